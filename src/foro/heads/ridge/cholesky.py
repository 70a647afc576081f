"""The Cholesky factor U of a packed matrix + shift · I = UᵀU, in square tiles that lie one after another.

Tiles are what threads compute side by side, and no digit depends on their number; of a large factor, which lies on the
disk, memory holds the few that are being worked on. A tile on the diagonal has its inverse in its place: only to solve
with it is ever needed, and products are what NumPy gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from foro.heads.ridge import packed
from foro.types import Float64
from foro.util import large_arrays
from foro.util.threads import one_blas_thread

LAYOUT = 2
"""What is in the tiles, and where; a stored factor of another layout is of no use."""

TILE = 512
"""Rows and columns of a tile."""

SMALL = 64
"""Rows of a triangle that is inverted like any other matrix."""

DEEP = 2
"""Rows of tiles that are multiplied at once: the deeper a product, the less its subtraction costs beside it."""

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
            tile[:] = block if row < column else block + shift * np.eye(len(block))
        large_arrays.release(matrix)

    def scale(number: int, column: int) -> None:
        tiles[number, column][:] = tiles[number, number].T @ tiles[number, column]

    def update(above: range, row: int, column: int) -> None:
        tile = tiles[row, column]
        tile -= tiles.stacked(above, row).T @ tiles.stacked(above, column)

    def compute(strips: Iterator[Callable[[], None]]) -> None:
        packed.run([*strips], out)

    # What stands in the same columns of the packed matrix is taken together.
    halves = [number for number in range(count) if tiles.span(number)[1] <= size // 2]
    leading = ([(row, column) for column in halves[row:]] for row in halves)
    trailing = ([(row, column) for row in range(column + 1)] for column in range(len(halves), count))
    compute(partial(fill, places) for part in (leading, trailing) for places in part)
    for number in range(count):
        begun, later = range(number - number % DEEP, number + 1), range(number + 1, count)
        compute(partial(update, begun[:-1], number, column) for column in range(number, count) if begun[:-1])
        corner = tiles[number, number]
        try:
            lower = np.linalg.cholesky(corner.T)  # which looks at one triangle only
        except np.linalg.LinAlgError:  # not positive definite
            return False
        corner[:] = _inverse(lower.T)
        compute(partial(scale, number, column) for column in later)
        if len(begun) == DEEP:
            compute(partial(update, begun, row, column) for column in later for row in range(number + 1, column + 1))
    large_arrays.release(out)
    return True


@one_blas_thread
def solve(factor: Float64, size: int, right: Float64) -> Float64:
    """(UᵀU)⁻¹ right for right of shape (M, k)."""
    solution: Float64 = np.array(right.T, order="C")
    tiles = _Tiles(factor, size)

    def some(start: int, stop: int) -> None:
        _forward(tiles, solution[start:stop])
        _backward(tiles, solution[start:stop])

    packed.run(packed.strips(some, 0, len(solution), SOLVED), factor)
    return np.asarray(solution.T)


@one_blas_thread
def squared_norms(factor: Float64, size: int, rows: Float64) -> Float64:
    """hᵀ(UᵀU)⁻¹h (n,) of rows h (n, M): the squared norms of U⁻ᵀh, half the work of solving."""
    norms = np.empty(len(rows))
    tiles = _Tiles(factor, size)

    def some(start: int, stop: int) -> None:
        solved = np.array(rows[start:stop], order="C")
        _forward(tiles, solved)
        norms[start:stop] = (solved**2).sum(axis=1)

    packed.run(packed.strips(some, 0, len(rows), SOLVED), factor)
    return norms


class _Tiles:
    """The tiles of the upper triangle, column by column; below the diagonal of those on it are zeros at the end."""

    def __init__(self, factor: Float64, size: int) -> None:
        self.factor = factor
        self._edges = _edges(size)
        self._starts = _starts(self._edges)

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, place: tuple[int, int]) -> Float64:
        row, column = place
        return self.stacked(range(row, row + 1), column)

    def stacked(self, rows: range, column: int) -> Float64:
        """Some tiles of a column, one below another; none are no rows."""
        (left, right), (top, bottom) = self.span(column), (self._edges[rows.start], self._edges[rows.stop])
        width = right - left
        before = self._starts[column]
        return self.factor[before + top * width : before + bottom * width].reshape(-1, width)

    def span(self, number: int) -> tuple[int, int]:
        """The first row or column of a tile, and the one after its last."""
        return self._edges[number], self._edges[number + 1]


def _edges(size: int) -> list[int]:
    """Where tiles begin and end: none reaches across the halves of the packed matrix."""
    return [*range(0, size // 2, TILE), *range(size // 2, size, TILE), size]


def _starts(edges: list[int]) -> list[int]:
    """Where each column of tiles begins, and where the last one ends."""
    return [0, *accumulate((stop - start) * stop for start, stop in pairwise(edges))]


def _inverse(upper: Float64) -> Float64:
    """The inverse of an upper triangle, by halves: NumPy has none that knows of the zeros."""
    if len(upper) <= SMALL:
        return np.triu(np.linalg.inv(upper))
    half, out = len(upper) // 2, np.zeros(upper.shape)
    out[:half, :half], out[half:, half:] = _inverse(upper[:half, :half]), _inverse(upper[half:, half:])
    out[:half, half:] = -out[:half, :half] @ upper[:half, half:] @ out[half:, half:]
    return out


def _forward(tiles: _Tiles, rows: Float64) -> None:
    """Each of the rows h (k, M) becomes U⁻ᵀh, in place."""
    for column in range(len(tiles)):
        start, stop = tiles.span(column)
        mine = rows[:, start:stop]
        mine -= rows[:, :start] @ tiles.stacked(range(column), column)
        mine[:] = mine @ tiles[column, column]
        large_arrays.release(tiles.factor)


def _backward(tiles: _Tiles, rows: Float64) -> None:
    """Each of the rows h (k, M) becomes U⁻¹h, in place."""
    for column in range(len(tiles))[::-1]:
        start, stop = tiles.span(column)
        mine, before = rows[:, start:stop], rows[:, :start]
        mine[:] = mine @ tiles[column, column].T
        before -= mine @ tiles.stacked(range(column), column).T
        large_arrays.release(tiles.factor)
