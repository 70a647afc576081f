"""Symmetric matrices in LAPACK's rectangular full packed format: half the memory at the full speed of matrix products.

A packed matrix of size M is a flat float64 array of M (M + 1) / 2 numbers (``transr='N'``, ``uplo='U'``): columns of
``M + 1 - M % 2`` numbers that hold the trailing half of the upper triangle above the transposed leading half.

Each operation is cut into strips of fixed width that threads compute side by side: no digit depends on their number.
A large matrix lies on the disk, and memory holds the strips that are being worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foro.types import Float64
from foro.util import large_arrays
from foro.util.parallel import spread
from foro.util.threads import one_blas_thread

STRIP = 512
"""Columns of the rectangle that a thread computes at once, and of their rows."""


def zeros(size: int) -> Float64:
    return large_arrays.zeros(size * (size + 1) // 2)


def add(packed: Float64, other: Float64) -> None:
    """packed += other, in place."""
    for mine, theirs in large_arrays.parts(packed, other):
        mine += theirs


def copy(packed: Float64, out: Float64) -> None:
    """out = packed."""
    for mine, theirs in large_arrays.parts(out, packed):
        mine[:] = theirs


def trace(packed: Float64, size: int) -> float:
    """The sum of the diagonal."""
    return float(sum(packed[part].sum() for part in _diagonal_parts(packed, size)))


@one_blas_thread
def add_rows(packed: Float64, rows: Float64, sign: float = 1.0) -> None:
    """packed += sign · rowsᵀ rows, in place, for C-contiguous rows (k, M)."""
    size = rows.shape[1]
    if not (rows.flags.c_contiguous and packed.flags.writeable):
        raise ValueError("rows must be C-contiguous, and the packed matrix writeable")
    half, x = size // 2, rows.T
    columns, lower = _columns(packed, size), _leading(packed, size)

    def add(block: Float64, left: Float64, right: Float64, where: NDArray[np.bool_] | bool = True) -> None:
        """block += sign · left rightᵀ by its transpose, which lies as the columns do; nothing is written elsewhere."""
        product = right @ left.T
        if sign != 1.0:
            product *= sign
        np.add(block.T, product, out=block.T, where=where)

    # The other triangle of a block on the diagonal belongs to the other half, which another thread may be adding to.
    def leading(start: int, stop: int) -> None:
        mine = x[start:stop]
        add(lower[start:stop, start:stop], mine, mine, np.tri(stop - start, dtype=np.bool_).T)
        for top in range(stop, half, STRIP):
            bottom = min(top + STRIP, half)
            add(lower[top:bottom, start:stop], x[top:bottom], mine)

    def trailing(start: int, stop: int) -> None:
        above, mine = half + start, x[half + start : half + stop]
        for top in range(0, above, STRIP):
            bottom = min(top + STRIP, above)
            add(columns[top:bottom, start:stop], x[top:bottom], mine)
        add(columns[above : half + stop, start:stop], mine, mine, np.tri(stop - start, dtype=np.bool_))

    # The longest strips first, so that threads end together.
    longest = strips(trailing, 0, size - half, STRIP)[::-1]
    run([*longest, *strips(leading, 0, half, STRIP)], packed)


def diagonal(size: int) -> NDArray[np.intp]:
    """Where the diagonal stands in the flat array."""
    half, stride = size // 2, _stride(size)
    index = np.arange(size)
    leading = index < half
    row = np.where(leading, half + 1 + index, index)
    column = np.where(leading, index, index - half)
    return np.asarray(row + column * stride, dtype=np.intp)


def _diagonal_parts(packed: Float64, size: int) -> Iterator[NDArray[np.intp]]:
    """The same, a part at a time, after which memory lets go of the matrix: each number is in a column of its own."""
    where = diagonal(size)
    for start in range(0, size, STRIP):
        yield where[start : start + STRIP]
        large_arrays.release(packed)


def leading_block(packed: Float64, size: int, width: int) -> Float64:
    """The dense leading width × width corner, width ≤ M // 2."""
    return _symmetric(block(packed, size, 0, width, 0, width))


def block(packed: Float64, size: int, top: int, bottom: int, left: int, right: int) -> Float64:
    """Rows and columns of the upper triangle, columns of one half only; below its diagonal stands anything."""
    found: Float64
    if right <= (half := size // 2):
        found = _leading(packed, size)[left:right, top:bottom].T
    else:
        found = _columns(packed, size)[top:bottom, left - half : right - half]
    return found


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
        if number % STRIP == 0:
            large_arrays.release(packed, out)
    large_arrays.release(packed, out)
    return out


def unpack(packed: Float64, size: int) -> Float64:
    """The whole dense matrix (M, M)."""
    whole, half = np.empty((size, size)), size // 2
    for left, right in ((0, half), (half, size)):
        whole[:right, left:right] = block(packed, size, 0, right, left, right)
    return _symmetric(whole)


def _symmetric(upper: Float64) -> Float64:
    """The symmetric matrix of an upper triangle, below whose diagonal stands anything."""
    upper = np.triu(upper)
    return np.asarray(upper + np.triu(upper, 1).T)


def _stride(size: int) -> int:
    """Numbers from one column of the rectangle to the next."""
    return size + 1 - size % 2


def _columns(packed: Float64, size: int) -> Float64:
    """The rectangle; down to the diagonal, its columns are those of the trailing half of the upper triangle."""
    return packed.reshape((_stride(size), -1), order="F")


def _leading(packed: Float64, size: int) -> Float64:
    """The leading half of the matrix, as its lower triangle."""
    return _columns(packed, size)[size // 2 + 1 :]


def strips(work: Callable[[int, int], None], start: int, stop: int, width: int) -> list[Callable[[], None]]:
    """The work on rows or columns from ``start`` to ``stop``, cut into strips."""
    return [partial(work, first, min(first + width, stop)) for first in range(start, stop, width)]


def run(strips: list[Callable[[], None]], large: Float64) -> None:
    """Computes strips of a matrix side by side; memory lets go of it after each."""

    def compute(strip: Callable[[], None]) -> None:
        strip()
        large_arrays.release(large)

    spread(compute, strips)
