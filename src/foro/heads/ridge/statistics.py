"""Sufficient statistics of ridge regression: everything that was ever learned, and no image of it.

The Gram matrix G = Σ hᵀh is kept as a packed matrix plus a short ``tail`` of rows that are not yet in it. Few samples
are all tail: then nothing of size M × M exists at all, in memory or in the model file, and none is factorised.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from foro.heads.head import BLOCK
from foro.heads.ridge import packed
from foro.types import Float64
from foro.util.interrupts import uninterrupted
from foro.util.threads import one_blas_thread

Classes = NDArray[np.int64]


class Statistics:
    """G (M, M), C = Σ hᵀy (M, c), the number of samples of each class, and the number n of samples in G.

    The tail holds at most ``thin_limit`` rows while there is no packed matrix, and ``tail_limit`` from then on: the
    first saves memory and time, the second bounds what is kept beside the factor of the packed matrix.
    Classes are numbered here; their names are the encoder's business.
    """

    def __init__(self, size: int, thin_limit: int | None = None, tail_limit: int | None = None) -> None:
        self.size = size
        self.thin_limit = max(1, min(4 * BLOCK, size // 4)) if thin_limit is None else thin_limit
        self.tail_limit = max(1, min(BLOCK, size // 4)) if tail_limit is None else tail_limit
        self.samples = 0
        self.counts: Classes = np.zeros(0, dtype=np.int64)
        self.cross: Float64 = np.zeros((size, 0), order="F")
        self.gram: Float64 | None = None
        self.gram_version = 0
        self.tail: Float64 = np.zeros((0, size))
        self.tail_classes: Classes = np.zeros(0, dtype=np.int64)

    def reserve(self, classes: int, rows: int) -> None:
        """Makes room for class numbers below ``classes`` and for so many more rows: memory runs out here or never."""
        if not self._fits(rows):
            self._allocate()
        new = classes - len(self.counts)
        if new > 0:
            cross = np.concatenate([self.cross.T, np.zeros((new, self.size))]).T
            self.counts = np.concatenate([self.counts, np.zeros(new, dtype=np.int64)])
            self.cross = cross

    def add(self, blocks: Iterator[Float64], classes: Classes) -> None:
        """Absorbs the rows of the blocks, which together are as many as the classes."""
        if self._fits(len(classes)):
            for rows, part in _paired(blocks, classes):
                self._count(rows, part, +1)
                self.tail = np.concatenate([self.tail, rows])
                self.tail_classes = np.concatenate([self.tail_classes, part])
            return
        self.settle()
        for rows, part in _paired(blocks, classes):
            self._count(rows, part, +1)
            self._add_to_gram(rows)

    @one_blas_thread
    def subtract(self, blocks: Iterator[Float64], classes: Classes) -> bool:
        """Takes rows out again; False, and nothing changed, if they cannot have been absorbed."""
        if self.gram is None:
            rows = np.concatenate(list(blocks))
            remaining = _difference(self.tail, rows)
            if remaining is None:
                return False
            self._count(rows, classes, -1)
            self.tail, self.tail_classes = remaining, np.full(len(remaining), -1)
            return True
        self.settle()
        for rows, part in _paired(blocks, classes):
            self._count(rows, part, -1)
            self._add_to_gram(rows, sign=-1.0)
        if self.samples == 0:
            self.gram = None  # what is left of it is rounding
            self.cross[:] = 0.0
        return True

    def merge(self, other: Statistics, numbers: Classes) -> None:
        """Adds other's statistics; its class i is this one's class numbers[i]."""
        self.samples += other.samples
        self.counts[numbers] += other.counts
        self.cross[:, numbers] += other.cross
        if other.gram is None and self._fits(len(other.tail)):
            renumbered = np.append(numbers, -1)[other.tail_classes]
            self.tail = np.concatenate([self.tail, other.tail])
            self.tail_classes = np.concatenate([self.tail_classes, renumbered])
            return
        self.settle()
        self._add_to_gram(other.tail)
        if other.gram is not None:
            assert self.gram is not None
            self.gram += other.gram

    def drop(self, number: int) -> None:
        """Removes a class; its samples stay in G as samples of no class."""
        self.counts = np.delete(self.counts, number)
        self.cross = np.delete(self.cross.T, number, axis=0).T
        self.tail_classes = np.where(self.tail_classes == number, -1, self.tail_classes - (self.tail_classes > number))

    def restore(self, number: int, column: Float64, count: int) -> None:
        """Adds what was known of a class before it was dropped; samples that are still in the tail stay of no class."""
        self.counts[number] += count
        self.cross[:, number] += column

    def settle(self) -> None:
        """Moves the tail into the packed matrix."""
        with uninterrupted():  # or the tail could be counted twice
            self._add_to_gram(self.tail)
            self.tail = np.zeros((0, self.size))
            self.tail_classes = np.zeros(0, dtype=np.int64)

    @property
    def trace(self) -> float:
        """tr(G), the sum of the squared norms of all samples."""
        settled = 0.0 if self.gram is None else float(self.gram[packed.diagonal(self.size)].sum())
        return settled + float((self.tail**2).sum())

    def tail_targets(self) -> Float64:
        """One-hot targets (r, c) of the tail; a row of zeros for a class that was dropped."""
        return np.asarray(self.tail_classes[:, None] == np.arange(len(self.counts)), dtype=np.float64)

    def _fits(self, rows: int) -> bool:
        return len(self.tail) + rows <= (self.thin_limit if self.gram is None else self.tail_limit)

    def _allocate(self) -> Float64:
        if self.gram is None:
            self.gram = packed.zeros(self.size)
            self.gram_version += 1
        return self.gram

    def _add_to_gram(self, rows: Float64, sign: float = 1.0) -> None:
        gram = self._allocate()
        if len(rows):
            packed.add_rows(gram, np.ascontiguousarray(rows), sign)
        self.gram_version += 1

    def _count(self, rows: Float64, classes: Classes, sign: int) -> None:
        self.samples += sign * len(classes)
        for number in np.unique(classes):
            mine = classes == number
            self.counts[number] += sign * int(mine.sum())
            self.cross[:, number] += sign * rows[mine].sum(axis=0)


def _paired(blocks: Iterator[Float64], classes: Classes) -> Iterator[tuple[Float64, Classes]]:
    start = 0
    for rows in blocks:
        yield rows, classes[start : start + len(rows)]
        start += len(rows)


def _difference(rows: Float64, removed: Float64) -> Float64 | None:
    """Rows F with FᵀF = rowsᵀ rows − removedᵀ removed, or None if that is not positive semidefinite."""
    from scipy.linalg import eigh, qr

    if not len(rows):
        return None
    basis, triangle = qr(np.concatenate([rows, removed]).T, mode="economic")
    signs = np.repeat([1.0, -1.0], [len(rows), len(removed)])
    values, vectors = eigh((triangle * signs) @ triangle.T)
    largest = float((triangle**2).sum())
    tolerance = largest * len(values) * 10 * np.finfo(np.float64).eps
    if values[0] < -tolerance:
        return None
    kept = values > tolerance
    return np.ascontiguousarray((basis @ vectors[:, kept] * np.sqrt(values[kept])).T)
