"""The nearest class mean by angle: the simplest head, and the readable example of what a head must keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foro.config import LearnerConfig
from foro.errors import InputError
from foro.heads.copies import find_copies
from foro.heads.head import Head, LeftOut, renamed
from foro.heads.projection import Block
from foro.labels import check_names, listed
from foro.types import Arrays, Float64, Label


class NearestMean(Head):
    """Predicts the class whose mean feature has the smallest angle with the sample's.

    Its statistics are the sum of the features of each class and their number; a forgotten label keeps both.

    Examples
    --------
    >>> head = NearestMean(features=2)
    >>> head.absorb([[0, 1], [0, 2], [1, 0]], ["up", "up", "right"])
    >>> head.predict([[0, 3], [3, 1]])
    ['up', 'right']
    """

    def __init__(self, features: int) -> None:
        self.features = features
        self._sums: dict[Label, Float64] = {}
        self._counts: dict[Label, int] = {}
        self._away: dict[Label, tuple[Float64, int]] = {}

    @classmethod
    def build(cls, features: int, blocks: Sequence[Block], config: LearnerConfig, seed: int) -> NearestMean:
        """A head for features of width d; there is nothing to set."""
        return cls(features)

    @property
    def labels(self) -> list[Label]:
        return list(self._sums)

    @property
    def counts(self) -> dict[Label, int]:
        return dict(self._counts)

    @property
    def samples(self) -> int:
        return sum(self._counts.values()) + sum(count for _, count in self._away.values())

    @property
    def forgotten(self) -> list[Label]:
        return list(self._away)

    @property
    def weights(self) -> Float64:
        """Directions (d, c) of the class means: a score is the cosine times the length of the feature."""
        if not self._sums:
            raise InputError("nothing has been learned yet")
        sums = np.stack(list(self._sums.values()), axis=1)
        return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=0), np.finfo(np.float64).tiny))

    def absorb(self, X: ArrayLike, labels: Sequence[Label] | NDArray[Any]) -> None:
        features, names = self.checked(X, labels)
        for name, (total, count) in _totals(features, names).items():
            self._add(name, total, count)

    def take_back(self, features: Float64, labels: list[Label]) -> None:
        for name, (total, count) in _totals(features, labels).items():
            self._add(name, -total, -count)
            if not self._counts[name]:
                del self._sums[name], self._counts[name]

    def left_out(self, X: ArrayLike, learned: Sequence[Sequence[Label]]) -> LeftOut:
        features, times = self.times(X, learned)
        scores, sums, groups = self.scores(features), np.stack(list(self._sums.values()), axis=1), find_copies(features)
        copies = np.array([times[group].sum(axis=0) for group in groups]).reshape(times.shape)
        for row, group in enumerate(groups):
            rest = sums - features[group].T @ times[group]
            for number in np.flatnonzero(copies[row]):
                length = np.linalg.norm(rest[:, number])
                alone = copies[row, number] >= self._counts[self.labels[number]] or not length
                scores[row, number] = 0.0 if alone else features[row] @ rest[:, number] / length
        return LeftOut(scores, None, copies, groups)

    def merge(self, other: Head, order: Iterable[Label] | None = None) -> None:
        if difference := self.difference(other):
            raise InputError(f"these heads cannot be merged: their {difference} differ")
        assert isinstance(other, NearestMean)
        for label in other._sums if order is None else dict.fromkeys(order):
            if label in other._sums:
                self._add(self.known_as([label])[0], other._sums[label], other._counts[label])
        for label, (total, count) in other._away.items():
            name = self.known_as([label])[0]
            mine, number = self._away.get(name, (np.zeros(self.features), 0))
            self._away[name] = mine + total, number + count

    def difference(self, other: Head) -> str | None:
        if not isinstance(other, NearestMean):
            return "heads"
        return None if self.features == other.features else "numbers of features"

    def forget(self, label: Label) -> None:
        if label not in self._sums:
            raise InputError(f"{label!r} was never learned; known labels: {listed(self.labels)}")
        total, count = self._away.pop(label, (np.zeros(self.features), 0))
        self._away[label] = total + self._sums.pop(label), count + self._counts.pop(label)

    def restore(self, label: Label) -> None:
        if label not in self._away:
            raise InputError(f"{label!r} was not forgotten; forgotten labels: {listed(self.forgotten)}")
        self._add(label, *self._away.pop(label))

    def rename(self, label: Label, to: Label) -> None:
        if label not in self._sums:
            raise InputError(f"{label!r} was never learned; known labels: {listed(self.labels)}")
        self._sums, self._counts = renamed(self._sums, label, to, add), renamed(self._counts, label, to, add)
        self._away = renamed(self._away, label, to, lambda one, other: (one[0] + other[0], one[1] + other[1]))

    def blank(self) -> NearestMean:
        return NearestMean(self.features)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays: Arrays = {
            "sums": _rows(list(self._sums.values()), self.features),
            "counts": np.array(list(self._counts.values()), dtype=np.int64),
            "forgotten.sums": _rows([total for total, _ in self._away.values()], self.features),
            "forgotten.counts": np.array([count for _, count in self._away.values()], dtype=np.int64),
        }
        if self._sums:
            arrays["weights"] = self.weights.T
        settings = {"features": self.features, "labels": self.labels, "forgotten": self.forgotten}
        return arrays, {**settings, "samples": self.samples, "projection": None, "sharpness": self.sharpness}

    @classmethod
    def from_state(cls, arrays: Arrays, settings: dict[str, Any]) -> NearestMean:
        check_names(settings["labels"], settings["forgotten"])
        head = cls(settings["features"])
        for prefix, names in (("", settings["labels"]), ("forgotten.", settings["forgotten"])):
            if arrays[f"{prefix}sums"].shape != (len(names), head.features) or arrays[f"{prefix}counts"].shape != (
                len(names),
            ):
                raise ValueError("labels or features do not fit the statistics")
            if not np.isfinite(arrays[f"{prefix}sums"]).all() or (arrays[f"{prefix}counts"] < (prefix == "")).any():
                raise ValueError("there is a NaN, or a count that is negative")
        head._sums = dict(zip(settings["labels"], arrays["sums"], strict=True))
        head._counts = dict(zip(settings["labels"], arrays["counts"].tolist(), strict=True))
        away = zip(arrays["forgotten.sums"], arrays["forgotten.counts"].tolist(), strict=True)
        head._away = dict(zip(settings["forgotten"], away, strict=True))
        return head

    def _add(self, label: Label, total: Float64, count: int) -> None:
        self._sums[label] = self._sums.get(label, 0.0) + total
        self._counts[label] = self._counts.get(label, 0) + count


def _totals(features: Float64, names: list[Label]) -> dict[Label, tuple[Float64, int]]:
    """The sum of the features (d,) and the number of the samples of each label."""
    rows: dict[Label, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {name: (features[mine].sum(axis=0), len(mine)) for name, mine in rows.items()}


def _rows(sums: list[Float64], width: int) -> Float64:
    return np.stack(sums) if sums else np.zeros((0, width))
