"""Ridge regression as RanPAC's and LayUP's own code does it: the option ``solver = original``.

The Gram matrix is a full one in single precision, a task's projected features are held all at once, and γ is the best
of a list of values, each of which takes an LU factorisation. It is here for what it costs, which is part of the
paper's Table 3; ``foro.heads.ridge`` solves in double precision and chooses γ from the statistics of all tasks.

γ comes from the newest task, so that what it has learned depends on how the samples were cut into tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foro.config import LearnerConfig
from foro.errors import InputError
from foro.heads.head import Head, renamed
from foro.heads.projection import Block, RandomProjection
from foro.labels import listed
from foro.types import Arrays, Float32, Float64, Label

GammaChoice = Literal["held-out", "folds"]
HELD_OUT = 0.2
FOLDS = 4
VALUES: dict[GammaChoice, tuple[float, ...]] = {
    "held-out": tuple(10.0**power for power in range(-8, 9)),
    "folds": (*(10.0 ** (half / 2) for half in range(-8, 7)), 1e-8),
}
"""Values of γ that RanPAC (held-out) and LayUP (folds) choose from."""


class GridRidge(Head):
    """W = (G + γI)⁻¹C in single precision, γ chosen again by every ``absorb``, which takes a whole task.

    ``held-out``, RanPAC's: fitted on four fifths of the task alone, the lowest squared error on the last fifth.
    ``folds``, LayUP's: fitted on all earlier tasks and three quarters of this one, the highest accuracy on the last
    quarter, over four such parts.
    """

    def __init__(self, features: int, projection_dim: int | None, choice: GammaChoice, seed: int) -> None:
        self._assemble(features, projection_dim or features, choice, seed)
        if projection_dim:
            self.projection = RandomProjection.draw(features, projection_dim, "relu", seed)

    def _assemble(self, features: int, size: int, choice: GammaChoice, seed: int) -> None:
        self.features, self.choice, self.seed = features, choice, seed
        self.gram: Float32 = np.zeros((size, size), np.float32)
        self.cross: dict[Label, Float32] = {}
        self.away: dict[Label, Float32] = {}
        self.learned: Counter[Label] = Counter()
        self.regularisation_used: float | None = None
        self._weights: Float32 | None = None

    @classmethod
    def build(cls, features: int, blocks: Sequence[Block], config: LearnerConfig, seed: int) -> GridRidge:
        return cls(features, config.projection_dim, "held-out", seed)

    @property
    def labels(self) -> list[Label]:
        return list(self.cross)

    @property
    def counts(self) -> dict[Label, int]:
        return {label: self.learned[label] for label in self.cross}

    @property
    def samples(self) -> int:
        return self.learned.total()

    @property
    def forgotten(self) -> list[Label]:
        return list(self.away)

    @property
    def weights(self) -> Float64:
        if not self.cross:
            raise InputError("nothing has been learned yet")
        if self._weights is None:
            self._weights = self._solved(self.gram, self.cross, self.regularisation_used or 1.0)
        return self._weights.astype(np.float64)

    def absorb(self, X: ArrayLike, labels: Sequence[Label] | NDArray[Any]) -> None:
        features, names = self.checked(X, labels)
        rows = self._project(features.astype(np.float32))
        cross = {name: self.cross.get(name, np.zeros(len(self.gram), np.float32)) for name in (*self.cross, *names)}
        position = {label: number for number, label in enumerate(cross)}
        targets = np.eye(len(cross), dtype=np.float32)[[position[name] for name in names]]
        gamma = self._best(rows, targets, np.stack(list(cross.values()), axis=1))
        gram, added = self.gram + rows.T @ rows, rows.T @ targets
        cross = {label: column + added[:, position[label]] for label, column in cross.items()}
        weights = self._solved(gram, cross, gamma)
        self.gram, self.cross, self._weights, self.regularisation_used = gram, cross, weights, gamma
        self.learned.update(names)

    def take_back(self, features: Float64, labels: list[Label]) -> None:
        rows = self._project(features.astype(np.float32))
        self.gram = self.gram - rows.T @ rows
        for row, name in zip(rows, labels, strict=True):
            self.cross[name] = self.cross[name] - row
        self.learned.subtract(labels)
        self.cross = {label: column for label, column in self.cross.items() if self.learned[label]}
        self._weights = None

    def merge(self, other: Head, order: Iterable[Label] | None = None) -> None:
        if difference := self.difference(other):
            raise InputError(f"these heads cannot be merged: their {difference} differ")
        assert isinstance(other, GridRidge)
        for mine, theirs in ((self.cross, other.cross), (self.away, other.away)):
            for label in theirs if order is None or mine is self.away else dict.fromkeys(order):
                name = self.known_as([label])[0]
                mine[name] = mine[name] + theirs[label] if name in mine else theirs[label]
        for label, count in other.learned.items():
            self.learned[self.known_as([label])[0]] += count
        self.gram, self._weights = self.gram + other.gram, None
        self.regularisation_used = self.regularisation_used or other.regularisation_used

    def difference(self, other: Head) -> str | None:
        if not isinstance(other, GridRidge) or self.choice != other.choice:
            return "heads"
        if self.features != other.features or len(self.gram) != len(other.gram):
            return "numbers of features"
        same = self.projection is None or (other.projection is not None and self.projection.same_as(other.projection))
        return None if same else "projections"

    def forget(self, label: Label) -> None:
        if label not in self.cross:
            raise InputError(f"{label!r} was never learned; known labels: {listed(self.labels)}")
        column, self._weights = self.cross.pop(label), None
        self.away[label] = self.away[label] + column if label in self.away else column

    def restore(self, label: Label) -> None:
        if label not in self.away:
            raise InputError(f"{label!r} was not forgotten; forgotten labels: {listed(self.forgotten)}")
        column, self._weights = self.away.pop(label), None
        self.cross[label] = self.cross[label] + column if label in self.cross else column

    def rename(self, label: Label, to: Label) -> None:
        if label not in self.cross:
            raise InputError(f"{label!r} was never learned; known labels: {listed(self.labels)}")
        self.cross, self.away = renamed(self.cross, label, to, add), renamed(self.away, label, to, add)
        self.learned, self._weights = Counter(renamed(self.learned, label, to, add)), None

    def blank(self) -> GridRidge:
        twin = GridRidge.__new__(GridRidge)
        twin._assemble(self.features, len(self.gram), self.choice, self.seed)
        twin.projection = self.projection
        return twin

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        columns = [*self.cross.values(), *self.away.values()]
        arrays: Arrays = {
            "gram": self.gram,
            "cross": np.stack(columns) if columns else np.zeros((0, len(self.gram)), np.float32),
        }
        if self.projection is not None:
            arrays["projection"] = self.projection.matrix
        return arrays, {
            "choice": self.choice,
            "seed": self.seed,
            "features": self.features,
            "labels": self.labels,
            "forgotten": self.forgotten,
            "learned": [[label, count] for label, count in self.learned.items()],
            "used": self.regularisation_used,
        }

    @classmethod
    def from_state(cls, arrays: Arrays, settings: dict[str, Any]) -> GridRidge:
        ridge = cls.__new__(cls)
        ridge._assemble(settings["features"], len(arrays["gram"]), settings["choice"], settings["seed"])
        if "projection" in arrays:
            ridge.projection = RandomProjection(arrays["projection"], "relu")
        ridge.gram, names = arrays["gram"], settings["labels"]
        ridge.cross = dict(zip(names, arrays["cross"][: len(names)], strict=True))
        ridge.away = dict(zip(settings["forgotten"], arrays["cross"][len(names) :], strict=True))
        ridge.learned = Counter(dict(settings["learned"]))
        ridge.regularisation_used = settings["used"]
        return ridge

    def _solved(self, gram: Float32, cross: dict[Label, Float32], gamma: float) -> Float32:
        weights = _solve(gram, np.stack(list(cross.values()), axis=1), gamma)
        if weights is None:
            raise InputError(f"the original solver cannot solve for γ = {gamma:g} in single precision")
        return weights

    def _project(self, features: Float32) -> Float32:
        if self.projection is None:
            return features
        projected: Float32 = np.maximum(features @ self.projection.matrix, np.float32(0))
        return projected

    def _best(self, rows: Float32, targets: Float32, cross: Float32) -> float:
        """The γ with the lowest mean loss on samples that were not fitted on."""
        values = VALUES[self.choice]
        parts = self._parts(targets)
        losses = np.zeros(len(values))
        for held in parts:
            fitted = np.setdiff1d(np.arange(len(rows)), held)
            gram, own = rows[fitted].T @ rows[fitted], rows[fitted].T @ targets[fitted]
            if self.choice == "folds":
                gram, own = gram + self.gram, own + cross
            for number, gamma in enumerate(values):
                weights = _solve(gram, own, gamma)
                losses[number] += np.inf if weights is None else self._loss(rows[held] @ weights, targets[held])
        return values[int(losses.argmin())]

    def _parts(self, targets: Float32) -> list[NDArray[np.intp]]:
        """Positions of the samples that are not fitted on, for each fit; folds have equal shares of every class."""
        if self.choice == "held-out":
            return [held_out(len(targets), self.seed)]
        order = np.random.default_rng(self.seed).permutation(len(targets))
        by_class = order[np.argsort(targets[order].argmax(axis=1), kind="stable")]
        return [part for first in range(FOLDS) if len(part := by_class[first::FOLDS])]

    def _loss(self, scores: Float32, targets: Float32) -> float:
        if self.choice == "held-out":
            return float(((scores - targets) ** 2).mean())
        return float((scores.argmax(axis=1) != targets.argmax(axis=1)).mean())


def held_out(samples: int, seed: int) -> NDArray[np.intp]:
    """Positions of a random fifth, at least one."""
    order = np.random.default_rng(seed).permutation(samples)
    return order[samples - max(1, round(HELD_OUT * samples)) :]


def _solve(gram: Float32, cross: Float32, gamma: float) -> Float32 | None:
    """(G + γI)⁻¹C, or None where single precision cannot give it."""
    regularised = gram.copy()
    regularised.flat[:: len(gram) + 1] += np.float32(gamma)
    try:
        weights: Float32 = np.linalg.solve(regularised, cross)
    except np.linalg.LinAlgError:
        return None
    return weights if np.isfinite(weights).all() else None
