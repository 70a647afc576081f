"""Symmetric matrices in LAPACK's rectangular full packed format: half the memory at full BLAS-3 speed.

A packed matrix of size M is a flat float64 array of M (M + 1) / 2 numbers (``transr='N'``, ``uplo='U'``): columns of
``M + 1 - M % 2`` numbers that hold the trailing half of the upper triangle above the transposed leading half.

Each operation is cut into strips of fixed width that threads compute side by side: no digit depends on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foro.heads.ridge import lapack
from foro.types import Float64
from foro.util.parallel import spread
from foro.util.threads import one_blas_thread

STRIP = 512
"""Rows or columns of the matrix that a thread computes at once."""

PANEL = 256
"""Columns that a triangle is factorised by at once."""

SOLVED = 64
"""Right-hand sides that a thread solves at once."""

_FORMAT = b"N", b"U"  # transr, uplo


def zeros(size: int) -> Float64:
    return np.zeros(size * (size + 1) // 2)


@one_blas_thread
def add_rows(packed: Float64, rows: Float64, sign: float = 1.0) -> None:
    """packed += sign · rowsᵀ rows, in place, for C-contiguous rows (k, M)."""
    count, size = rows.shape
    if not (rows.flags.c_contiguous and packed.flags.writeable):
        raise ValueError("rows must be C-contiguous, and the packed matrix writeable")
    if not lapack.by_address():
        lapack.call("dsfrk", *_FORMAT, b"N", size, count, sign, rows, size, 1.0, packed)
        return
    half, stride, x = size // 2, _stride(size), rows.T
    columns, lower = _columns(packed, size), _leading(packed, size)

    def leading(start: int, stop: int) -> None:
        left, width = x[start:], stop - start
        lapack.call("dsyrk", b"L", b"N", width, count, sign, left, size, 1.0, lower[start:, start:], stride)
        product = half - stop, width, count, sign, x[stop:], size, left, size, 1.0, lower[stop:, start:], stride
        lapack.call("dgemm", b"N", b"T", *product)

    def trailing(start: int, stop: int) -> None:
        above, right, width = half + start, x[half + start :], stop - start
        product = above, width, count, sign, x, size, right, size, 1.0, columns[:, start:], stride
        lapack.call("dgemm", b"N", b"T", *product)
        lapack.call("dsyrk", b"U", b"N", width, count, sign, right, size, 1.0, columns[above:, start:], stride)

    # The longest strips first, so that threads end together.
    _run([*_strips(trailing, 0, size - half)[::-1], *_strips(leading, 0, half)])


def diagonal(size: int) -> NDArray[np.intp]:
    """Where the diagonal stands in the flat array."""
    half, stride = size // 2, _stride(size)
    index = np.arange(size)
    leading = index < half
    row = np.where(leading, half + 1 + index, index)
    column = np.where(leading, index, index - half)
    return np.asarray(row + column * stride, dtype=np.intp)


def leading_block(packed: Float64, size: int, block: int) -> Float64:
    """The dense leading block × block corner, block ≤ M // 2."""
    lower: Float64 = np.tril(_leading(packed, size)[:block, :block])
    return np.asarray(lower + np.tril(lower, -1).T)


def every_second(packed: Float64, size: int) -> Float64:
    """The packed matrix of size M / 2 of every second row and column, M a multiple of 4."""
    if size % 4:
        raise ValueError(f"the size must be a multiple of 4, not {size}")
    quarter = size // 4
    columns = _columns(packed, size)[:, ::2]
    trailing, leading = columns[::2], columns[1::2]
    out = zeros(size // 2)
    thinned = _columns(out, size // 2)
    for number in range(quarter):  # a column has the trailing half down to its diagonal, and then the leading one
        diagonal = quarter + number + 1
        thinned[:diagonal, number] = trailing[:diagonal, number]
        thinned[diagonal:, number] = leading[diagonal - 1 :, number]
    return out


def unpack(packed: Float64, size: int) -> Float64:
    """The whole dense matrix (M, M)."""
    upper = np.empty((size, size), order="F")
    _positive(lapack.call("dtfttr", *_FORMAT, size, packed, upper, size, info=True))
    upper = np.triu(upper)
    return np.asarray(upper + np.triu(upper, 1).T)


@one_blas_thread
def factorise(packed: Float64, size: int, shift: float, out: Float64) -> bool:
    """Cholesky factor of packed + shift · I into out; False if that is not positive definite."""
    np.copyto(out, packed)
    out[diagonal(size)] += shift
    if not lapack.by_address():
        return _positive(lapack.call("dpftrf", *_FORMAT, size, out, info=True))
    half, rest, stride = size // 2, size - size // 2, _stride(size)
    lower, cross = _leading(out, size), _columns(out, size)
    upper = cross[half:]

    def solve_cross(start: int, stop: int) -> None:
        right = half, stop - start, 1.0, lower, stride, cross[:, start:], stride
        lapack.call("dtrsm", b"L", b"L", b"N", b"N", *right)

    def update(start: int, stop: int) -> None:
        width, mine = stop - start, cross[:, start:]
        product = start, width, half, -1.0, cross, stride, mine, stride, 1.0, upper[:, start:], stride
        lapack.call("dgemm", b"T", b"N", *product)
        lapack.call("dsyrk", b"U", b"T", width, half, -1.0, mine, stride, 1.0, upper[start:, start:], stride)

    if not _factorise_triangle(lower, half, stride, b"L"):
        return False
    _run(_strips(solve_cross, 0, rest))
    _run(_strips(update, 0, rest)[::-1])
    return _factorise_triangle(upper, rest, stride, b"U")


def _factorise_triangle(matrix: Float64, size: int, stride: int, triangle: bytes) -> bool:
    """The lower or upper triangle (L or U) of a dense matrix into its Cholesky factor, a panel at a time."""
    lower = triangle == b"L"

    def part(row: int, column: int) -> Float64:  # of the lower triangle, or of the mirrored upper one
        return matrix[row:, column:] if lower else matrix[column:, row:]

    def solve(panel: int, width: int, start: int, stop: int) -> None:
        side, shape = (b"R", (stop - start, width)) if lower else (b"L", (width, stop - start))
        corner, rows = part(panel, panel), part(start, panel)
        lapack.call("dtrsm", side, triangle, b"T", b"N", *shape, 1.0, corner, stride, rows, stride)

    def update(panel: int, width: int, start: int, stop: int) -> None:
        count, below, rows = stop - start, size - stop, part(start, panel)
        flip = b"N" if lower else b"T"
        diagonal = part(start, start)
        lapack.call("dsyrk", triangle, flip, count, width, -1.0, rows, stride, 1.0, diagonal, stride)
        others, product = part(stop, panel), part(stop, start)
        if lower:
            given = b"N", b"T", below, count, width, -1.0, others, stride, rows, stride
        else:
            given = b"T", b"N", count, below, width, -1.0, rows, stride, others, stride
        lapack.call("dgemm", *given, 1.0, product, stride)

    for panel in range(0, size, PANEL):
        width = min(PANEL, size - panel)
        if not _positive(lapack.call("dpotrf", triangle, width, part(panel, panel), stride, info=True)):
            return False
        _run(_strips(partial(solve, panel, width), panel + width, size))
        _run(_strips(partial(update, panel, width), panel + width, size))
    return True


@one_blas_thread
def solve(factor: Float64, size: int, right: Float64) -> Float64:
    """(packed + shift · I)⁻¹ right for right of shape (M, k), through the factor."""
    solution: Float64 = np.array(right, order="F")

    def columns(start: int, stop: int) -> None:
        part = solution[:, start:stop]
        _positive(lapack.call("dpftrs", *_FORMAT, size, stop - start, factor, part, size, info=True))

    _run(_strips(columns, 0, right.shape[1], SOLVED))
    return solution


@one_blas_thread
def squared_norms(factor: Float64, size: int, rows: Float64) -> Float64:
    """hᵀ(packed + shift · I)⁻¹h (n,) of rows h (n, M): the squared norms of U⁻ᵀh, half the work of solving."""
    transr, uplo = _FORMAT
    norms = np.empty(len(rows))

    def columns(start: int, stop: int) -> None:
        half = np.array(rows[start:stop].T, order="F")
        lapack.call("dtfsm", transr, b"L", uplo, b"T", b"N", size, stop - start, 1.0, factor, half, size)
        norms[start:stop] = (half**2).sum(axis=0)

    _run(_strips(columns, 0, len(rows), SOLVED))
    return norms


def _stride(size: int) -> int:
    """Numbers from one column of the rectangle to the next."""
    return size + 1 - size % 2


def _columns(packed: Float64, size: int) -> Float64:
    """The rectangle; down to the diagonal, its columns are those of the trailing half of the upper triangle."""
    return packed.reshape((_stride(size), -1), order="F")


def _leading(packed: Float64, size: int) -> Float64:
    """The leading half of the matrix, as its lower triangle."""
    return _columns(packed, size)[size // 2 + 1 :]


def _strips(
    work: Callable[[int, int], None], start: int, stop: int, width: int | None = None
) -> list[Callable[[], None]]:
    """The work on rows or columns from ``start`` to ``stop``, cut into strips."""
    width = width or STRIP
    return [partial(work, first, min(first + width, stop)) for first in range(start, stop, width)]


def _run(strips: list[Callable[[], None]]) -> None:
    """Computes strips side by side."""
    spread(lambda strip: strip(), strips)


def _positive(info: int) -> bool:
    """Whether LAPACK found the matrix positive definite; an error if it refused its arguments."""
    if info < 0:
        raise ValueError(f"LAPACK refused its arguments (info = {info})")
    return info == 0
