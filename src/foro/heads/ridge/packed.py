"""Symmetric matrices in LAPACK's rectangular full packed format: half the memory at full BLAS-3 speed.

A packed matrix of size M is a flat float64 array of M (M + 1) / 2 numbers (``transr='N'``, ``uplo='U'``): columns of
``M + 1 - M % 2`` numbers that hold the trailing half of the upper triangle above the transposed leading half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foro.heads.ridge import lapack
from foro.types import Float64

_FORMAT = b"N", b"U"  # transr, uplo


def zeros(size: int) -> Float64:
    return np.zeros(size * (size + 1) // 2)


def add_rows(packed: Float64, rows: Float64, sign: float = 1.0) -> None:
    """packed += sign · rowsᵀ rows, in place, for C-contiguous rows (k, M)."""
    count, size = rows.shape
    if not (rows.flags.c_contiguous and packed.flags.writeable):
        raise ValueError("rows must be C-contiguous, and the packed matrix writeable")
    lapack.call("dsfrk", *_FORMAT, b"N", size, count, sign, rows, size, 1.0, packed)


def diagonal(size: int) -> NDArray[np.intp]:
    """Where the diagonal stands in the flat array."""
    half, stride = size // 2, size + 1 - size % 2
    index = np.arange(size)
    leading = index < half
    row = np.where(leading, half + 1 + index, index)
    column = np.where(leading, index, index - half)
    return np.asarray(row + column * stride, dtype=np.intp)


def leading_block(packed: Float64, size: int, block: int) -> Float64:
    """The dense leading block × block corner, block ≤ M // 2."""
    half, stride = size // 2, size + 1 - size % 2
    columns = packed.reshape((stride, -1), order="F")
    lower: Float64 = np.tril(columns[half + 1 : half + 1 + block, :block])
    return np.asarray(lower + np.tril(lower, -1).T)


def unpack(packed: Float64, size: int) -> Float64:
    """The whole dense matrix (M, M)."""
    upper = np.empty((size, size), order="F")
    _check(lapack.call("dtfttr", *_FORMAT, size, packed, upper, size, info=True))
    upper = np.triu(upper)
    return np.asarray(upper + np.triu(upper, 1).T)


def factorise(packed: Float64, size: int, shift: float, out: Float64) -> bool:
    """Cholesky factor of packed + shift · I into out; False if that is not positive definite."""
    np.copyto(out, packed)
    out[diagonal(size)] += shift
    info = lapack.call("dpftrf", *_FORMAT, size, out, info=True)
    if info < 0:
        _check(info)
    return bool(info == 0)


def solve(factor: Float64, size: int, right: Float64) -> Float64:
    """(packed + shift · I)⁻¹ right for right of shape (M, k), through the factor."""
    solution: Float64 = np.array(right, order="F")
    _check(lapack.call("dpftrs", *_FORMAT, size, right.shape[1], factor, solution, size, info=True))
    return solution


def squared_norms(factor: Float64, size: int, rows: Float64) -> Float64:
    """hᵀ(packed + shift · I)⁻¹h (n,) of rows h (n, M): the squared norms of U⁻ᵀh, half the work of solving."""
    transr, uplo = _FORMAT
    half = np.array(rows.T, order="F")
    lapack.call("dtfsm", transr, b"L", uplo, b"T", b"N", size, len(rows), 1.0, factor, half, size)
    return np.asarray((half**2).sum(axis=0))


def _check(info: int) -> None:
    if info != 0:
        raise ValueError(f"LAPACK refused its arguments (info = {info})")
