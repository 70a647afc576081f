"""The Cholesky factor U of a packed matrix + shift · I = UᵀU, in square tiles that lie one after another.

Tiles are what threads compute side by side, and no digit depends on their number; of a large factor, which lies on the
disk, memory holds the few that are being worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from foro.heads.ridge import lapack, packed
from foro.types import Float64
from foro.util import large_arrays
from foro.util.threads import one_blas_thread

TILE = 512
"""Rows and columns of a tile."""

SOLVED = 64
"""Right-hand sides that a thread solves at once."""


def empty(size: int) -> Float64:
    """Room for the factor of a matrix of this size."""
    return large_arrays.zeros(room(size))


def room(size: int) -> int:
    """How many numbers its tiles have."""
    return _starts(_edges(size))[-1]


@one_blas_thread
def factorise(matrix: Float64, size: int, shift: float, out: Float64) -> bool:
    """The factor of a packed matrix + shift · I into out; False if that is not positive definite."""
    tiles = _Tiles(out, size)
    count = len(tiles)

    def fill(places: list[tuple[int, int]]) -> None:
        for row, column in places:
            tile = tiles[row, column]
            block = packed.block(matrix, size, *tiles.span(row), *tiles.span(column))
            tile[:] = block if row < column else np.triu(block) + shift * np.eye(len(block))
        large_arrays.release(matrix)

    def scale(number: int, column: int) -> None:
        _substitute(tiles[number, number], tiles[number, column], b"T")

    def update(number: int, row: int, column: int) -> None:
        left, right, tile = tiles[number, row], tiles[number, column], tiles[row, column]
        if row == column:
            (depth, width) = left.shape
            lapack.call("dsyrk", b"U", b"T", width, depth, -1.0, left, depth, 1.0, tile, width)
        else:
            _subtract(left, right, tile, b"T")

    def compute(strips: Iterator[Callable[[], None]]) -> None:
        packed.run([*strips], out)

    # What stands in the same columns of the packed matrix is taken together.
    halves = [number for number in range(count) if tiles.span(number)[1] <= size // 2]
    leading = ([(row, column) for column in halves[row:]] for row in halves)
    trailing = ([(row, column) for row in range(column + 1)] for column in range(len(halves), count))
    compute(partial(fill, places) for part in (leading, trailing) for places in part)
    for number in range(count):
        corner = tiles[number, number]
        if not packed.positive(lapack.call("dpotrf", b"U", len(corner), corner, len(corner), info=True)):
            return False
        later = range(number + 1, count)
        compute(partial(scale, number, column) for column in later)
        compute(partial(update, number, row, column) for column in later for row in range(number + 1, column + 1))
    large_arrays.release(out)
    return True


@one_blas_thread
def solve(factor: Float64, size: int, right: Float64) -> Float64:
    """(UᵀU)⁻¹ right for right of shape (M, k)."""
    solution: Float64 = np.array(right, order="F")
    tiles = _Tiles(factor, size)

    def columns(start: int, stop: int) -> None:
        _forward(tiles, solution[:, start:stop])
        _backward(tiles, solution[:, start:stop])

    packed.run(packed.strips(columns, 0, solution.shape[1], SOLVED), factor)
    return solution


@one_blas_thread
def squared_norms(factor: Float64, size: int, rows: Float64) -> Float64:
    """hᵀ(UᵀU)⁻¹h (n,) of rows h (n, M): the squared norms of U⁻ᵀh, half the work of solving."""
    norms = np.empty(len(rows))
    tiles = _Tiles(factor, size)

    def columns(start: int, stop: int) -> None:
        right = np.array(rows[start:stop].T, order="F")
        _forward(tiles, right)
        norms[start:stop] = (right**2).sum(axis=0)

    packed.run(packed.strips(columns, 0, len(rows), SOLVED), factor)
    return norms


class _Tiles:
    """The tiles of the upper triangle, column by column; below the diagonal of those on it are zeros."""

    def __init__(self, factor: Float64, size: int) -> None:
        self.factor = factor
        self._edges = _edges(size)
        self._starts = _starts(self._edges)

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, place: tuple[int, int]) -> Float64:
        (top, bottom), (left, right) = (self.span(number) for number in place)
        width = right - left
        before = self._starts[place[1]] + top * width
        return self.factor[before : before + (bottom - top) * width].reshape((bottom - top, width), order="F")

    def span(self, number: int) -> tuple[int, int]:
        """The first row or column of a tile, and the one after its last."""
        return self._edges[number], self._edges[number + 1]


def _edges(size: int) -> list[int]:
    """Where tiles begin and end: none reaches across the halves of the packed matrix."""
    return [*range(0, size // 2, TILE), *range(size // 2, size, TILE), size]


def _starts(edges: list[int]) -> list[int]:
    """Where each column of tiles begins, and where the last one ends."""
    return [0, *accumulate((stop - start) * stop for start, stop in pairwise(edges))]


def _forward(tiles: _Tiles, right: Float64) -> None:
    """right = U⁻ᵀ right, in place."""
    for column in range(len(tiles)):
        mine = right[slice(*tiles.span(column))]
        for row in range(column):
            _subtract(tiles[row, column], right[slice(*tiles.span(row))], mine, b"T")
        _substitute(tiles[column, column], mine, b"T")
        large_arrays.release(tiles.factor)


def _backward(tiles: _Tiles, right: Float64) -> None:
    """right = U⁻¹ right, in place."""
    for column in range(len(tiles))[::-1]:
        mine = right[slice(*tiles.span(column))]
        _substitute(tiles[column, column], mine, b"N")
        for row in range(column):
            _subtract(tiles[row, column], mine, right[slice(*tiles.span(row))], b"N")
        large_arrays.release(tiles.factor)


def _subtract(left: Float64, right: Float64, out: Float64, flip: bytes) -> None:
    """out −= left right (flip N) or leftᵀ right (T)."""
    (height, width), depth = out.shape, len(right)
    given = flip, b"N", height, width, depth, -1.0, left, len(left), right, _stride(right), 1.0, out, _stride(out)
    lapack.call("dgemm", *given)


def _substitute(corner: Float64, right: Float64, flip: bytes) -> None:
    """right = corner⁻¹ right (flip N) or corner⁻ᵀ right (T)."""
    given = *right.shape, 1.0, corner, len(corner), right, _stride(right)
    lapack.call("dtrsm", b"L", b"U", flip, b"N", *given)


def _stride(columns: Float64) -> int:
    """Numbers from one column to the next."""
    return max(len(columns), columns.strides[1] // columns.itemsize)
