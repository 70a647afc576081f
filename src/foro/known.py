"""Which images were learned, and with which labels: a digest of each, so that none counts twice unasked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.images.digests import DIGEST_BYTES, Digests
from foro.labels import check_label
from foro.types import Arrays, Label

DIGESTS, CLASSES = "known.digests", "known.classes"
"""Names of the arrays in a model file."""


class Known:
    """A digest and a label for every image that was learned, as often as it was learned; 20 bytes for each.

    Images of labels that were forgotten are kept apart: taught again, such a label is new.
    """

    def __init__(self) -> None:
        self._names: list[tuple[Label, bool]] = []  # labels, and whether they were forgotten
        self._first: NDArray[np.uint64] = np.zeros(0, np.uint64)  # of the digests, in ascending order
        self._rest: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._classes: NDArray[np.int32] = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self._first)

    @property
    def labels(self) -> list[Label]:
        """Every label that an image was learned with."""
        return list(dict.fromkeys(label for label, _ in self._names))

    @property
    def images(self) -> list[tuple[bytes, Label, bool]]:
        """Digest and label of every image, and whether the label was forgotten, in an order that says nothing."""
        rows = self._digests()
        return [(rows[at].tobytes(), *self._names[number]) for at, number in enumerate(self._classes.tolist())]

    def labels_of(self, digests: Digests) -> list[list[Label]]:
        """The labels with which each of the images was learned, as often as it was; not those that were forgotten."""
        found: list[list[Label]] = []
        for places in self._places(digests):
            names = (self._names[self._classes[each]] for each in places)
            found.append([label for label, forgotten in names if not forgotten])
        return found

    def add(self, digests: Digests, labels: Sequence[Label]) -> None:
        """Adds images (n, 16) that were learned with these labels."""
        first, rest = _halves(digests)
        numbers = {label: self._number(label, False) for label in dict.fromkeys(labels)}
        self._insert(first, rest, np.array([numbers[label] for label in labels], np.int32))

    def sort_unlearned(self, digests: Digests, labels: Sequence[Label]) -> tuple[list[int], list[int]]:
        """Positions of images to unlearn, and of those that were never learned with their label.

        An image that comes more often than it was learned is unlearned as often as it was.
        """
        found = self._found(digests, labels)
        kept = [position for position, place in enumerate(found) if place is not None]
        pairs = {(digests[each].tobytes(), labels[each]) for each in kept}
        never = [each for each, label in enumerate(labels) if (digests[each].tobytes(), label) not in pairs]
        return kept, never

    def remove(self, digests: Digests, labels: Sequence[Label]) -> None:
        """Takes images out that were unlearned, each once; one that is not there is passed over."""
        gone = [place for place in self._found(digests, labels) if place is not None]
        self._first, self._rest = np.delete(self._first, gone), np.delete(self._rest, gone)
        self._classes = np.delete(self._classes, gone)

    def forget(self, label: Label) -> None:
        """The label was forgotten: its images count as new until it is restored."""
        self._move((label, False), (label, True))

    def restore(self, label: Label) -> None:
        """Takes ``forget`` back."""
        self._move((label, True), (label, False))

    def rename(self, label: Label, to: Label) -> None:
        """A label is called something else, or is one with another."""
        for forgotten in (False, True):
            self._move((label, forgotten), (to, forgotten))

    def merge(self, other: Known, names: Mapping[Label, Label]) -> None:
        """Adds the images of another; ``names`` says what its labels are called here."""
        numbers = [self._number(names.get(label, label), forgotten) for label, forgotten in other._names]
        self._insert(other._first, other._rest, np.array(numbers, np.int32)[other._classes])

    def covers(self, other: Known) -> bool:
        """Whether every image of another is here with the same label, as often as there."""
        numbers: dict[str, int] = {}
        rows = [np.stack([each._first, each._rest, each._labels(numbers)], axis=1) for each in (self, other)]
        mine, theirs = _tallied(*rows)
        return bool((theirs <= mine).all())

    def shared(self, other: Known) -> int:
        """How many images both have, whatever their labels."""
        rows = [np.stack([each._first, each._rest], axis=1) for each in (self, other)]
        mine, theirs = _tallied(*rows)
        return int(((mine > 0) & (theirs > 0)).sum())

    def state(self) -> tuple[Arrays, list[tuple[Label, bool]]]:
        """Everything to store: arrays by name, and JSON-ready labels; nothing where nothing was learned."""
        if not len(self):
            return {}, []
        used, classes = np.unique(self._classes, return_inverse=True)
        return (
            {DIGESTS: self._digests(), CLASSES: classes.astype(np.int32)},
            [self._names[number] for number in used],
        )

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], names: Sequence[Any]) -> Known:
        """The images whose ``state`` this is; a ValueError where its parts do not fit."""
        known = cls()
        known._names = [(check_label(label), bool(forgotten)) for label, forgotten in names]
        if not names:
            return known
        digests, classes = arrays[DIGESTS], arrays[CLASSES]
        if digests.dtype != np.uint8 or digests.shape != (len(classes), DIGEST_BYTES):
            raise ValueError(f"the digests of images have the shape {digests.shape}")
        if classes.dtype != np.int32 or ((classes < 0) | (classes >= len(names))).any():
            raise ValueError("a digest has the number of no label")
        known._insert(*_halves(digests), classes)
        return known

    def _digests(self) -> Digests:
        return np.stack([self._first, self._rest], axis=1).astype("<u8", copy=False).view(np.uint8)

    def _places(self, digests: Digests) -> list[list[int]]:
        """Where each of the images is, as often as it is there."""
        first, rest = _halves(digests)
        starts, ends = np.searchsorted(self._first, first, "left"), np.searchsorted(self._first, first, "right")
        return [
            [each for each in range(start, end) if self._rest[each] == rest[row]] if end > start else []
            for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
        ]

    def _found(self, digests: Digests, labels: Sequence[Label]) -> list[int | None]:
        """Where each image with its label is, no place twice; of forgotten labels only where there is no other."""
        found: dict[int, int] = {}  # place → position
        for position, (places, label) in enumerate(zip(self._places(digests), labels, strict=True)):
            names = {each: self._names[self._classes[each]] for each in places if each not in found}
            mine = [each for each in names if names[each][0] == label]
            if mine:
                found[min(mine, key=lambda each: names[each][1])] = position
        places_of = {position: place for place, position in found.items()}
        return [places_of.get(position) for position in range(len(labels))]

    def _insert(self, first: NDArray[np.uint64], rest: NDArray[np.uint64], classes: NDArray[np.int32]) -> None:
        places = np.searchsorted(self._first, first)
        order = np.argsort(first, kind="stable")
        places, first, rest, classes = places[order], first[order], rest[order], classes[order]
        self._first = np.insert(self._first, places, first)
        self._rest = np.insert(self._rest, places, rest)
        self._classes = np.insert(self._classes, places, classes)

    def _number(self, label: Label, forgotten: bool) -> int:
        if (label, forgotten) not in self._names:
            self._names.append((label, forgotten))
        return self._names.index((label, forgotten))

    def _move(self, before: tuple[Label, bool], after: tuple[Label, bool]) -> None:
        if before in self._names:
            number = self._number(*before)
            self._classes = np.where(self._classes == number, np.int32(self._number(*after)), self._classes)

    def _labels(self, numbers: dict[str, int]) -> NDArray[np.uint64]:
        """The label of every image as a number, the same for two of these: ``7`` and ``"7"`` are one label."""
        mine = [numbers.setdefault(str(label), len(numbers)) for label, _ in self._names]
        return np.array(mine, np.uint64)[self._classes]


@dataclass(frozen=True)
class SortedOut:
    """What is to be done with each image of a lesson, by its position."""

    new: list[int] = field(default_factory=list)
    known: list[int] = field(default_factory=list)  # learned before with the same label
    other: dict[int, Label] = field(default_factory=dict)  # learned before with this label, and left as they are
    moved: dict[int, list[Label]] = field(default_factory=dict)  # learned before with these, which are taken back


def sort_out(known: Known, digests: Digests, labels: Sequence[Label], relabel: bool = False) -> SortedOut:
    """Tells images that are new from those that are known with the same label, or with another one.

    Within a lesson the first label of an image counts, with ``relabel`` the last: as if each had come by itself.
    """
    found = SortedOut()
    keys = [digest.tobytes() for digest in digests]
    last = {key: position for position, key in enumerate(keys)}
    lesson: dict[bytes, list[Label]] = {}
    for position, (key, before, label) in enumerate(zip(keys, known.labels_of(digests), labels, strict=True)):
        had = before + lesson.get(key, [])
        if relabel and (last[key] != position or (had and had != [label] * len(had))):
            if last[key] == position:
                found.moved[position] = before
            else:
                found.known.append(position)
        elif label in had:
            found.known.append(position)
        elif had:
            found.other[position] = had[0]
        else:
            found.new.append(position)
            lesson[key] = [label]
    return found


def _halves(digests: Digests) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The first and the last eight bytes of each digest, as numbers."""
    numbers = np.ascontiguousarray(digests).view("<u8").astype(np.uint64, copy=False)
    return numbers[:, 0], numbers[:, 1]


def _tallied(mine: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How often each row of either is in each of them."""
    rows, numbers = np.unique(np.concatenate([mine, theirs]), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    return np.bincount(numbers[: len(mine)], minlength=len(rows)), np.bincount(
        numbers[len(mine) :], minlength=len(rows)
    )
