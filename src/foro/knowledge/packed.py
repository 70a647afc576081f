"""Symmetric matrices in LAPACK's rectangular full packed format: half the memory at full BLAS-3 speed.

A packed matrix of size M is a flat float64 array of M (M + 1) / 2 numbers (``transr='N'``, ``uplo='U'``): columns of
``M + 1 - M % 2`` numbers that hold the trailing half of the upper triangle above the transposed leading half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Float64 = NDArray[np.float64]

LARGEST = 46_340
"""Largest size whose packed length fits LAPACK's 32-bit integers."""

_FORMAT: dict[str, Any] = {"transr": "N", "uplo": "U"}


def zeros(size: int) -> Float64:
    return np.zeros(size * (size + 1) // 2)


def add_rows(packed: Float64, rows: Float64, sign: float = 1.0) -> None:
    """packed += sign · rowsᵀ rows, in place, for C-contiguous rows (k, M)."""
    count, size = rows.shape
    result = lapack.dsfrk(size, count, sign, rows.T, 1.0, packed, trans="N", overwrite_c=1, **_FORMAT)
    assert result is packed or np.shares_memory(result, packed)


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
    upper, info = lapack.dtfttr(size, packed, **_FORMAT)
    _check(info)
    upper = np.triu(upper)
    return np.asarray(upper + np.triu(upper, 1).T)


def factorise(packed: Float64, size: int, shift: float, out: Float64) -> bool:
    """Cholesky factor of packed + shift · I into out; False if that is not positive definite."""
    np.copyto(out, packed)
    out[diagonal(size)] += shift
    _, info = lapack.dpftrf(size, out, overwrite_a=1, **_FORMAT)
    if info < 0:
        _check(info)
    return bool(info == 0)


def solve(factor: Float64, size: int, right: Float64) -> Float64:
    """(packed + shift · I)⁻¹ right for right of shape (M, k), through the factor."""
    solution, info = lapack.dpftrs(size, factor, np.asfortranarray(right), **_FORMAT)
    _check(info)
    return np.asarray(solution)


def _check(info: int) -> None:
    if info != 0:
        raise ValueError(f"LAPACK refused its arguments (info = {info})")
