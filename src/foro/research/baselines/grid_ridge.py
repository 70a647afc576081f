"""Ridge regression as RanPAC's and LayUP's own code does it: the option ``solver = original``.

The Gram matrix is a full one in single precision, a task's projected features are held all at once, and γ is the best
of a list of values, each of which takes an LU factorisation. It is here for what it costs, which is part of the
paper's Table 3; ``foro.heads.ridge`` solves in double precision and chooses γ from the statistics of all tasks.

It is not a head of ``foro.heads``: γ comes from the newest task alone, so that what it has learned depends on how the
samples were cut into tasks, which the contract of heads excludes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError
from foro.heads.projection import RandomProjection
from foro.types import Arrays, Float32, Float64, Label

GammaChoice = Literal["held-out", "folds"]
HELD_OUT = 0.2
FOLDS = 4
VALUES: dict[GammaChoice, tuple[float, ...]] = {
    "held-out": tuple(10.0**power for power in range(-8, 9)),
    "folds": (*(10.0 ** (half / 2) for half in range(-8, 7)), 1e-8),
}
"""Values of γ that RanPAC (held-out) and LayUP (folds) choose from."""


class GridRidge:
    """W = (G + γI)⁻¹C in single precision, γ chosen again for each task.

    ``held-out``, RanPAC's: fitted on four fifths of the task alone, the lowest squared error on the last fifth.
    ``folds``, LayUP's: fitted on all earlier tasks and three quarters of this one, the highest accuracy on the last
    quarter, over four such parts.
    """

    def __init__(self, features: int, projection_dim: int | None, choice: GammaChoice, seed: int) -> None:
        self.projection = RandomProjection.draw(features, projection_dim, "relu", seed) if projection_dim else None
        self.choice, self.seed = choice, seed
        size = projection_dim or features
        self.gram: Float32 = np.zeros((size, size), np.float32)
        self.cross: Float32 = np.zeros((size, 0), np.float32)
        self.weights: Float32 = np.zeros((size, 0), np.float32)
        self.labels: list[Label] = []
        self.regularisation_used: float | None = None

    def gather(self, batches: Iterable[Float32], names: Sequence[Label]) -> Callable[[], None]:
        """Does everything for a task, and returns the step that makes it hold."""
        rows = np.concatenate([self._project(batch) for batch in batches])
        labels = [*self.labels, *(name for name in dict.fromkeys(names) if name not in self.labels)]
        position = {label: number for number, label in enumerate(labels)}
        targets = np.eye(len(labels), dtype=np.float32)[[position[name] for name in names]]
        new = len(labels) - len(self.labels)
        cross = np.concatenate([self.cross, np.zeros((len(self.gram), new), np.float32)], axis=1)
        gamma = self._best(rows, targets, cross)
        gram, cross = self.gram + rows.T @ rows, cross + rows.T @ targets
        weights = _solve(gram, cross, gamma)
        if weights is None:
            raise InputError(f"the original solver cannot solve for γ = {gamma:g} in single precision")

        def commit() -> None:
            self.gram, self.cross, self.weights, self.labels = gram, cross, weights, labels
            self.regularisation_used = gamma

        return commit

    def scores(self, features: Float32) -> Float64:
        """Scores (n, c) of features (n, d), one column for each of ``labels``."""
        scores: Float64 = (self._project(features) @ self.weights).astype(np.float64)
        return scores

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready values."""
        arrays: Arrays = {"gram": self.gram, "cross": self.cross, "weights": self.weights}
        if self.projection is not None:
            arrays["projection"] = self.projection.matrix
        values = {"choice": self.choice, "seed": self.seed, "labels": self.labels, "used": self.regularisation_used}
        return arrays, values

    @classmethod
    def from_state(cls, arrays: Arrays, values: dict[str, Any]) -> GridRidge:
        """What ``state`` was of."""
        ridge = cls.__new__(cls)
        ridge.projection = RandomProjection(arrays["projection"], "relu") if "projection" in arrays else None
        ridge.gram, ridge.cross, ridge.weights = arrays["gram"], arrays["cross"], arrays["weights"]
        ridge.choice, ridge.seed = values["choice"], values["seed"]
        ridge.labels, ridge.regularisation_used = values["labels"], values["used"]
        return ridge

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
