"""Sufficient statistics of ridge regression: everything that was ever learned, and no image of it.

The Gram matrix G = Σ hᵀh is kept as a packed matrix plus a short ``tail`` of rows that are not yet in it. Few samples
are all tail: then nothing of size M × M exists at all, in memory or in the model file, and none is factorised. As long
as that is so, the features that its rows were made of are kept too: a file needs nothing else, and a sample that is
taken back is found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from foro.heads.head import BLOCK
from foro.heads.ridge import cholesky, packed
from foro.heads.ridge.reservoir import SAME, exact_single
from foro.types import Arrays, Float64
from foro.util.interrupts import uninterrupted
from foro.util.threads import one_blas_thread

Classes = NDArray[np.int64]

ALMOST_NOTHING = 1e-9
"""Of the mean diagonal, to invert G where that has no inverse."""
ROUNDING = 1e-3
"""How far above 1 hᵀG⁻¹h of a sample within G may come."""


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
        self.tail_features: Float64 | None = None  # (r, d) that the tail was made of, while there is no packed matrix

    def reserve(self, classes: int, rows: int) -> None:
        """Makes room for class numbers below ``classes`` and for so many more rows: memory runs out here or never."""
        if not self._fits(rows):
            self._allocate()
        new = classes - len(self.counts)
        if new > 0:
            cross = np.concatenate([self.cross.T, np.zeros((new, self.size))]).T
            self.counts = np.concatenate([self.counts, np.zeros(new, dtype=np.int64)])
            self.cross = cross

    def add(self, blocks: Iterator[Float64], classes: Classes, features: Float64 | None = None) -> None:
        """Absorbs the rows of the blocks, which together are as many as the classes, and were made of the features."""
        if self._fits(len(classes)):
            self._append(blocks, classes, features)
            self._count(self.tail[-len(classes) :], classes)
            self.samples += len(classes)
            return
        self.settle()
        for rows, part in _paired(blocks, classes):
            self._count(rows, part)
            self._add_to_gram(rows)
        self.samples += len(classes)

    def find(self, features: Float64, classes: Classes) -> list[int | None]:
        """Rows of the tail that are these samples (n, d), each once; None for one that was never absorbed.

        The backbone may have rounded them a little differently this time. A row of no class, which was forgotten, is
        only taken where there is none of the sample's own.
        """
        assert self.tail_features is not None
        found: list[int | None] = []
        for sample, number in zip(features, classes, strict=True):
            distances = np.abs(self.tail_features - sample).max(axis=1)
            distances[[each for each in found if each is not None]] = np.inf
            near = distances <= SAME * np.abs(sample).max()
            own = np.flatnonzero(near & (self.tail_classes == number))
            rows = own if len(own) else np.flatnonzero(near & (self.tail_classes < 0))
            found.append(int(rows[distances[rows].argmin()]) if len(rows) else None)
        return found

    def remove(self, rows: list[int], classes: Classes) -> None:
        """Takes samples out of the tail: what remains is as if they had never been absorbed."""
        assert self.tail_features is not None
        complete, taken = self.complete, self.tail[rows]
        self.tail, self.tail_features = np.delete(self.tail, rows, axis=0), np.delete(self.tail_features, rows, axis=0)
        self.tail_classes = np.delete(self.tail_classes, rows)
        self.samples -= len(rows)
        for number in np.unique(classes):
            self.counts[number] -= int((classes == number).sum())
            self.cross[:, number] -= taken[classes == number].sum(axis=0)
        if complete:
            self.recount()

    @one_blas_thread
    def subtract(self, blocks: Iterator[Float64], classes: Classes) -> None:
        """Takes rows out of the packed matrix, whether they were absorbed or not."""
        self.settle()
        for rows, part in _paired(blocks, classes):
            for number in np.unique(part):
                self.counts[number] -= int((part == number).sum())
                self.cross[:, number] -= rows[part == number].sum(axis=0)
            self._add_to_gram(rows, sign=-1.0)
        self.samples -= len(classes)
        if self.samples == 0:
            self.gram = None  # what is left of it is rounding
            self.cross[:] = 0.0

    def impossible(self, blocks: Iterator[Float64]) -> list[int]:
        """Positions of rows that the packed matrix cannot have: hᵀG⁻¹h is at most 1 of those that it has."""
        self.settle()
        assert self.gram is not None
        factor = cholesky.empty(self.size)
        if not cholesky.factorise(self.gram, self.size, ALMOST_NOTHING * self.trace / self.size, factor):
            return []
        found = np.concatenate([cholesky.squared_norms(factor, self.size, rows) for rows in blocks])
        return [int(position) for position in np.flatnonzero(found > 1 + ROUNDING)]

    def state(self, features: int) -> Arrays:
        """Arrays to store: the tail of few samples as their features, of width d, and C where that is not all of it."""
        arrays: Arrays = {"counts": self.counts, "tail_classes": self.tail_classes}
        if self.gram is not None:
            arrays |= {"gram": self.gram, "tail": self.tail}
        else:
            made_of = np.zeros((0, features)) if self.tail_features is None else self.tail_features
            arrays["tail_features"] = exact_single(made_of)
        return arrays if self.complete else {**arrays, "cross": self.cross.T}

    @classmethod
    def from_state(
        cls,
        arrays: Arrays,
        size: int,
        features: int,
        classes: int,
        samples: int,
        project: Callable[[Float64], Float64] | None = None,
    ) -> Statistics:
        """The statistics whose ``state`` this is; ``project`` makes rows (n, M) of features (n, d).

        A part that is not there is a KeyError, one that does not fit the others a ValueError.
        """
        _check(arrays, size, features, classes, samples)
        statistics = cls(size)
        statistics.samples, statistics.counts = samples, arrays["counts"]
        statistics.tail_classes, statistics.gram = arrays["tail_classes"], arrays.get("gram")
        if statistics.gram is not None:
            statistics.gram.flags.writeable = False
            statistics.tail = arrays["tail"]
        elif len(statistics.tail_classes):
            statistics.tail_features = arrays["tail_features"].astype(np.float64)
            statistics.tail = project(statistics.tail_features) if project else statistics.tail_features
        if "cross" in arrays:
            statistics.cross = arrays["cross"].T
        else:
            statistics.cross = np.zeros((size, len(statistics.counts)), order="F")
            statistics.recount()
        return statistics

    @property
    def complete(self) -> bool:
        """Whether the tail says everything: no packed matrix, and a row for each counted sample of each class."""
        numbers = self.tail_classes[self.tail_classes >= 0]
        return self.gram is None and np.array_equal(np.bincount(numbers, minlength=len(self.counts)), self.counts)

    def recount(self) -> None:
        """C from the rows of the tail, to the last digit as if they had been absorbed one after another."""
        self.cross[:] = 0.0
        self.counts[:] = 0
        self._count(self.tail, self.tail_classes)

    def merge(self, other: Statistics, numbers: Classes) -> None:
        """Adds other's statistics; its class i is this one's class numbers[i]."""
        self.samples += other.samples
        renumbered = np.append(numbers, -1)[other.tail_classes]
        if other.complete:
            self._count(other.tail, renumbered)
        else:
            self.counts[numbers] += other.counts
            self.cross[:, numbers] += other.cross
        if other.gram is None and self._fits(len(other.tail)):
            self._append([other.tail], renumbered, other.tail_features)
            return
        self.settle()
        self._add_to_gram(other.tail)
        if other.gram is not None:
            packed.add(self._allocate(), other.gram)

    def drop(self, number: int) -> None:
        """Removes a class; its samples stay in G as samples of no class."""
        self.counts = np.delete(self.counts, number)
        self.cross = np.delete(self.cross.T, number, axis=0).T
        self.tail_classes = np.where(self.tail_classes == number, -1, self.tail_classes - (self.tail_classes > number))

    def join(self, number: int, other: int) -> None:
        """Makes another class a part of a class."""
        complete = self.complete
        self.counts[number] += self.counts[other]
        self.cross[:, number] += self.cross[:, other]
        self.tail_classes = np.where(self.tail_classes == other, number, self.tail_classes)
        self.drop(other)
        if complete:
            self.recount()

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
            self.tail_features = None

    @property
    def trace(self) -> float:
        """tr(G), the sum of the squared norms of all samples."""
        settled = 0.0 if self.gram is None else packed.trace(self.gram, self.size)
        return settled + float((self.tail**2).sum())

    def tail_targets(self) -> Float64:
        """One-hot targets (r, c) of the tail; a row of zeros for a class that was dropped."""
        return np.asarray(self.tail_classes[:, None] == np.arange(len(self.counts)), dtype=np.float64)

    def _fits(self, rows: int) -> bool:
        return len(self.tail) + rows <= (self.thin_limit if self.gram is None else self.tail_limit)

    def _allocate(self) -> Float64:
        """The packed matrix, to be changed; one that was read stays as it is in its file."""
        if self.gram is None or not self.gram.flags.writeable:
            own = packed.zeros(self.size)
            if self.gram is None:
                self.gram_version += 1
            else:
                packed.copy(self.gram, own)
            self.gram = own
        return self.gram

    def _add_to_gram(self, rows: Float64, sign: float = 1.0) -> None:
        gram = self._allocate()
        if len(rows):
            packed.add_rows(gram, np.ascontiguousarray(rows), sign)
        self.gram_version += 1

    def _append(self, blocks: Iterable[Float64], classes: Classes, features: Float64 | None) -> None:
        """Adds rows to the tail."""
        rows, end = np.empty((len(self.tail) + len(classes), self.size)), len(self.tail)
        rows[:end] = self.tail
        for block in blocks:  # one is held at a time, beside all rows
            rows[end : end + len(block)] = block
            end += len(block)
        self.tail = rows
        self.tail_classes = np.concatenate([self.tail_classes, classes])
        if self.gram is None and len(classes):
            earlier = [] if self.tail_features is None else [self.tail_features]
            made_of = self.tail[len(self.tail) - len(classes) :] if features is None else features
            self.tail_features = np.concatenate([*earlier, made_of])

    def _count(self, rows: Float64, classes: Classes) -> None:
        """Counts rows and adds them to C, one after another: how they were cut into batches changes no digit."""
        for number in np.unique(classes[classes >= 0]):
            mine = rows[classes == number]
            self.counts[number] += len(mine)
            self.cross[:, number] = np.concatenate([self.cross[None, :, number], mine]).sum(axis=0)


def _paired(blocks: Iterator[Float64], classes: Classes) -> Iterator[tuple[Float64, Classes]]:
    start = 0
    for rows in blocks:
        yield rows, classes[start : start + len(rows)]
        start += len(rows)


def check_array(arrays: Arrays, name: str, shape: tuple[int, ...]) -> None:
    """Refuses an array of another shape, or with a NaN."""
    if arrays[name].shape != shape:
        raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
    if not np.isfinite(arrays[name]).all():
        raise ValueError(f"{name} has a NaN or infinity")


def check_classes(arrays: Arrays, name: str, classes: int, least: int = 0) -> None:
    """Refuses numbers that are of no class."""
    numbers = arrays[name]
    if numbers.ndim != 1 or numbers.dtype != np.int64 or ((numbers < least) | (numbers >= classes)).any():
        raise ValueError(f"{name} has the number of no class")


def check_counts(arrays: Arrays, name: str, length: int) -> None:
    """Refuses anything but so many numbers that are not negative."""
    check_array(arrays, name, (length,))
    if arrays[name].dtype != np.int64 or (arrays[name] < 0).any():
        raise ValueError(f"{name} has a negative number")


def _check(arrays: Arrays, size: int, features: int, classes: int, samples: int) -> None:
    tail = len(arrays["tail_classes"])
    check_classes(arrays, "tail_classes", classes, least=-1)
    check_counts(arrays, "counts", classes)
    if "gram" in arrays:
        check_array(arrays, "tail", (tail, size))
        if arrays["gram"].shape != (size * (size + 1) // 2,):  # its numbers are looked at when they are used
            raise ValueError(f"gram has the shape {arrays['gram'].shape}")
    else:
        check_array(arrays, "tail_features", (tail, features))
    counted = int(arrays["counts"].sum())
    if type(samples) is not int or not max(tail, counted) <= samples < 2**53:
        raise ValueError(f"there cannot be {samples} samples")
    if "cross" in arrays:
        check_array(arrays, "cross", (classes, size))
    elif "gram" in arrays or samples != tail or counted != (arrays["tail_classes"] >= 0).sum():
        raise KeyError("cross")
