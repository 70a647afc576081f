"""Two models on the same images: how often each is right, where they differ, and whether that may be chance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foro.evaluation.evaluation import Evaluation
from foro.types import Label


@dataclass(frozen=True)
class Difference:
    """An image of which two models say different things."""

    image: str
    label: Label
    first: Label
    second: Label


@dataclass(frozen=True, eq=False)
class Comparison:
    """What two models made of the same images, which have names."""

    first: Evaluation
    second: Evaluation
    images: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    @property
    def only_first(self) -> int:
        """How many images the first model alone is right about."""
        return int((self.first.right & ~self.second.right).sum())

    @property
    def only_second(self) -> int:
        """How many images the second model alone is right about."""
        return int((self.second.right & ~self.first.right).sum())

    @property
    def both(self) -> int:
        """How many images both are right about."""
        return int((self.first.right & self.second.right).sum())

    @cached_property
    def p_value(self) -> float:
        """McNemar's exact test: how likely a difference at least as large is, were both models equally good.

        Images that both are right or both are wrong about say nothing of that; of the others each model would be right
        about half, as a coin falls.
        """
        decisive, ways, falls = self.only_first + self.only_second, 0, 1
        for heads in range(min(self.only_first, self.only_second) + 1):
            ways += falls  # of the 2ⁿ ways in which n coins fall, those with so many heads
            falls = falls * (decisive - heads) // (heads + 1)
        return min(1.0, 2 * ways / (1 << decisive))

    @cached_property
    def differences(self) -> list[Difference]:
        """Images of which the two say different things, in order; labels that look the same are the same."""
        rows = zip(self.images, self.first.truth, self.first.predicted, self.second.predicted, strict=True)
        return [Difference(*row) for row in rows if str(row[2]) != str(row[3])]

    @cached_property
    def classes(self) -> list[tuple[Label, int, int, int]]:
        """Of each label: its images, and those that the first and the second are right about; widest apart first."""
        images = Counter(self.first.truth)
        first, second = (
            Counter(np.array(self.first.truth, dtype=object)[each.right].tolist()) for each in (self.first, self.second)
        )
        rows = [(label, count, first[label], second[label]) for label, count in images.items()]
        return sorted(rows, key=lambda row: -abs(row[2] - row[3]))

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "images": len(self),
            "accuracy": [self.first.accuracy, self.second.accuracy],
            "both_right": self.both,
            "only_first_right": self.only_first,
            "only_second_right": self.only_second,
            "both_wrong": len(self) - self.both - self.only_first - self.only_second,
            "p_value": self.p_value,
            "classes": [
                {"label": label, "images": images, "right": [first, second]}
                for label, images, first, second in self.classes
            ],
            "differences": [vars(each) for each in self.differences],
            "unknown_labels": [
                {str(label): count for label, count in each.unknown.items()} for each in (self.first, self.second)
            ],
            "skipped": [each.reason for each in self.first.bad],
        }
