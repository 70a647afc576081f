"""Samples that the classifier is asked about as if it had never seen them, nor any copy of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.heads.head import BLOCK
from foro.heads.ridge.reservoir import Reservoir
from foro.types import Float64, Label

LEAST_FREEDOM = 1e-9
"""Of a sample that the classifier knows by heart, so that nothing is divided by zero."""

Leverages = Callable[[Float64, list[int]], Float64]
"""hᵀ(G + γI)⁻¹h (n,) of rows h (n, M) with their hashes."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Samples (r, d) with hashes, how often each was learned (r,), the mean of its targets (r, c), and its copies."""

    features: Float64
    hashes: list[int]
    counts: Float64
    targets: Float64
    groups: list[list[int]]  # each sample, and its copies

    def left_out_scores(
        self,
        numbers: Sequence[int],
        project: Callable[[Float64], Float64],
        weights: Float64,
        leverages: Leverages,
    ) -> tuple[Float64, Float64, Float64]:
        """Of some samples: scores (n, c) with them, scores (n, c) without each and its copies, leverages (n,)."""
        scores: Float64 = np.zeros_like(self.targets)
        single: Float64 = np.zeros(len(self.counts))
        for start in range(0, len(single), BLOCK):
            part = slice(start, start + BLOCK)
            rows = project(self.features[part])
            scores[part], single[part] = rows @ weights, leverages(rows, self.hashes[part])
        mixed = self._mixed(numbers, single, project, leverages)
        left = np.empty((len(numbers), self.targets.shape[1]))
        for row, number in enumerate(numbers):
            group = self.groups[number]
            among = np.array(
                [[single[i] if i == j else mixed.get((min(i, j), max(i, j)), 0.0) for j in group] for i in group]
            )
            left[row] = leave_one_out_scores(scores[group], self.targets[group], among, self.counts[group])[0]
        chosen = list(numbers)
        return scores[chosen], left, single[chosen]

    def _mixed(
        self,
        numbers: Sequence[int],
        single: Float64,
        project: Callable[[Float64], Float64],
        leverages: Leverages,
    ) -> dict[tuple[int, int], float]:
        """hᵀA⁻¹k of two copies h and k, of which one at least was learned: from the leverages of h, k and h + k."""
        groups, hashes = self.groups, self.hashes
        both = {(i, j) for number in numbers for i in groups[number] for j in groups[number] if i < j}
        pairs = sorted((i, j) for i, j in both if self.counts[i] or self.counts[j])
        found: dict[tuple[int, int], float] = {}
        for start in range(0, len(pairs), BLOCK):
            part = pairs[start : start + BLOCK]
            one, other = np.array(part).T
            rows = project(self.features[one]) + project(self.features[other])
            sums = leverages(rows, [hashes[i] << 64 | hashes[j] for i, j in part])
            found |= {(i, j): float(each - single[i] - single[j]) / 2 for (i, j), each in zip(part, sums, strict=True)}
        return found


@dataclass(frozen=True, eq=False)
class Judged:
    """Samples of a reservoir whose class has others: their numbers, classes (n,), and copies as each class (n, c)."""

    seen: Seen
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
        seen = Seen(reservoir.features, reservoir.hashes, reservoir.counts.astype(np.float64), targets, groups)
        return cls(seen, judged, classes[judged], copies[judged])


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
