"""What came of asking a model for images whose labels are known."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.images.unreadable import UnreadableImage
from foro.types import Float64, Label

BINS = 10


@dataclass(frozen=True)
class ClassResult:
    """Of one label: how many images it has, the share of them that was found, and of the answers that were right."""

    label: Label
    images: int
    accuracy: float | None  # None without an image
    precision: float | None  # None if it was never the answer


@dataclass(frozen=True)
class Bin:
    """Answers of similar confidence: how many, how sure on average, and the share that was right."""

    images: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """True labels, the most likely ones and their probabilities (n,), for the labels that the model knows."""

    labels: tuple[Label, ...]
    truth: tuple[Label, ...]
    predicted: tuple[Label, ...]
    confidence: Float64
    bad: tuple[UnreadableImage, ...] = ()

    def __len__(self) -> int:
        return len(self.truth)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each answer (n,) is right."""
        return np.array([one == other for one, other in zip(self.truth, self.predicted, strict=True)], dtype=bool)

    @property
    def accuracy(self) -> float:
        """The share of all answers that is right."""
        return float(self.right.mean())

    @property
    def class_accuracy(self) -> float:
        """Mean over classes of the share of their images that was found: each class counts the same."""
        return float(np.mean([each.accuracy for each in self.classes if each.accuracy is not None]))

    @property
    def tested_classes(self) -> int:
        """How many labels have an image."""
        return sum(each.images > 0 for each in self.classes)

    @cached_property
    def unknown(self) -> dict[Label, int]:
        """Labels that the model does not know, with their images; these count as wrong."""
        return dict(Counter(label for label in self.truth if label not in self.labels))

    @cached_property
    def classes(self) -> list[ClassResult]:
        """Results of each label that has an image or was an answer, sorted; unknown ones come last."""
        images, answers = Counter(self.truth), Counter(self.predicted)
        hits = Counter(label for label, right in zip(self.truth, self.right, strict=True) if right)
        return [
            ClassResult(
                label,
                images[label],
                hits[label] / images[label] if images[label] else None,
                hits[label] / answers[label] if answers[label] else None,
            )
            for label in (*sorted(self.labels, key=_order), *sorted(self.unknown, key=_order))
            if images[label] or answers[label]
        ]

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """How often each of ``classes`` (rows) was taken for each of them (columns).

        Not scikit-learn's: that refuses labels of which some are numbers and some text, and is slow to import.
        """
        numbers = {each.label: number for number, each in enumerate(self.classes)}
        matrix = np.zeros((len(numbers), len(numbers)), dtype=np.int64)
        np.add.at(matrix, ([numbers[label] for label in self.truth], [numbers[label] for label in self.predicted]), 1)
        return matrix

    def confused(self, most: int = 5) -> list[tuple[Label, Label, int]]:
        """The most frequent mistakes: true label, answer, how often."""
        wrong = Counter(
            (true, answer) for true, answer in zip(self.truth, self.predicted, strict=True) if true != answer
        )
        return [(true, answer, count) for (true, answer), count in wrong.most_common(most)]

    @cached_property
    def bins(self) -> list[Bin | None]:
        """Answers by confidence in ten equal steps from 0 to 1; None where there is none."""
        numbers = np.minimum((self.confidence * BINS).astype(int), BINS - 1)
        found: list[Bin | None] = []
        for number in range(BINS):
            mine = numbers == number
            found.append(
                Bin(int(mine.sum()), float(self.confidence[mine].mean()), float(self.right[mine].mean()))
                if mine.any()
                else None
            )
        return found

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: how far confidence is from accuracy, averaged over all answers."""
        return sum(each.images * abs(each.confidence - each.accuracy) for each in self.bins if each) / len(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the single answers, ready for JSON."""
        return {
            "images": len(self),
            "accuracy": self.accuracy,
            "class_accuracy": self.class_accuracy,
            "mean_confidence": float(self.confidence.mean()),
            "calibration_error": self.calibration_error,
            "unknown_labels": {str(label): count for label, count in self.unknown.items()},
            "classes": [asdict(each) for each in self.classes],
            "confusion": self.confusion.tolist(),
            "calibration": [asdict(each) if each else None for each in self.bins],
            "skipped": [each.reason for each in self.bad],
        }


def _order(label: Label) -> tuple[bool, int, str]:
    return (False, label, "") if isinstance(label, int) else (True, 0, label)
