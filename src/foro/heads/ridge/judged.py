"""Samples that the classifier is asked about as if it had never seen them, nor any copy of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.heads.ridge.reservoir import Reservoir
from foro.types import Float64, Label

LEAST_FREEDOM = 1e-9
"""Of a sample that the classifier knows by heart, so that nothing is divided by zero."""

Leverages = Callable[[Float64, list[int]], Float64]
"""hᵀ(G + γI)⁻¹h (n,) of rows h (n, M) with their hashes."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Samples of a reservoir whose class has others: their numbers, classes (n,), and copies as each class (n, c)."""

    reservoir: Reservoir
    targets: Float64  # (r, c), of all samples of the reservoir
    groups: list[list[int]]  # each sample of the reservoir, and its copies
    numbers: list[int]
    classes: NDArray[np.int64]
    copies: Float64

    @classmethod
    def of(cls, reservoir: Reservoir, labels: list[Label], counts: NDArray[np.int64]) -> Judged:
        """The samples that can be judged, of labels that have so many samples."""
        numbers = {label: number for number, label in enumerate(labels)}
        classes = np.array([numbers[label] for label in reservoir.labels], dtype=np.int64)
        targets = np.asarray(classes[:, None] == np.arange(len(labels)), dtype=np.float64)
        groups = reservoir.copies()
        copies = np.array([reservoir.counts[group] @ targets[group] for group in groups]).reshape(targets.shape)
        judged = [number for number, each in enumerate(classes) if counts[each] > copies[number, each]]
        return cls(reservoir, targets, groups, judged, classes[judged], copies[judged])

    def left_out_scores(self, rows: Float64, scores: Float64, leverages: Leverages) -> tuple[Float64, Float64]:
        """Scores (n, c) without each sample and its copies, and the leverages (n,).

        ``rows`` (r, M) and ``scores`` (r, c) are of all samples of the reservoir.
        """
        hashes, groups = self.reservoir.hashes, self.groups
        single = leverages(rows, hashes)
        pairs = sorted({(i, j) for number in self.numbers for i in groups[number] for j in groups[number] if i < j})
        mixed: dict[tuple[int, int], float] = {}
        if pairs:  # hᵀA⁻¹k of two samples, from the leverages of h, k and h + k
            both = leverages(
                np.array([rows[i] + rows[j] for i, j in pairs]), [hashes[i] << 64 | hashes[j] for i, j in pairs]
            )
            mixed = {(i, j): (each - single[i] - single[j]) / 2 for (i, j), each in zip(pairs, both, strict=True)}
        left = np.empty((len(self.numbers), scores.shape[1]))
        for row, number in enumerate(self.numbers):
            group = groups[number]
            among = np.array([[single[i] if i == j else mixed[min(i, j), max(i, j)] for j in group] for i in group])
            counts = self.reservoir.counts[group].astype(np.float64)
            left[row] = leave_one_out_scores(scores[group], self.targets[group], among, counts)[0]
        return left, single[self.numbers]


def leave_one_out_scores(scores: Float64, targets: Float64, leverages: Float64, counts: Float64) -> Float64:
    """Scores (m, c) of samples that are left out together, from those with them; no refit.

    With L = hᵀA⁻¹h (m, m) among them and K the counts (m,) of equal ones: (I − LK)⁻¹(s − LKy). Of one sample that
    counts once it is y − (y − s) / (1 − l).
    """
    weighed = leverages * counts
    if len(counts) == 1:
        return np.asarray((scores - weighed * targets) / max(1.0 - float(weighed[0, 0]), LEAST_FREEDOM))
    freedom = (1.0 + LEAST_FREEDOM) * np.eye(len(counts)) - weighed
    return np.asarray(np.linalg.lstsq(freedom, scores - weighed @ targets, rcond=None)[0])
