"""How sure the classifier may be: measured on samples that it is asked about as if it had never seen them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.heads.calibration import TYPICAL_SHARPNESS, fit_sharpness
from foro.heads.head import Estimate
from foro.types import Float64, Label


@dataclass(frozen=True)
class Confidence:
    """Leave-one-out scores (n, c) of samples, their classes (n,), and the sharpness that fits them."""

    scores: Float64
    classes: NDArray[np.int64]
    sharpness: float

    @classmethod
    def fit(cls, scores: Float64, classes: NDArray[np.int64]) -> Confidence:
        """Fits the sharpness; without a sample, or with nothing to choose from, it is a typical one."""
        if not len(scores) or scores.shape[1] < 2:
            return cls(scores, classes, TYPICAL_SHARPNESS)
        # As Platt did: a few samples that are all right do not make certain that the next one is.
        return cls(scores, classes, fit_sharpness(scores, classes, smoothing=1 / (len(scores) + 2)))

    def without(self, number: int) -> Confidence:
        """What remains when a class is forgotten: scores of classes do not depend on each other."""
        kept = self.classes != number
        classes = self.classes[kept]
        return Confidence.fit(np.delete(self.scores[kept], number, axis=1), classes - (classes > number))

    def estimate(self, labels: list[Label]) -> Estimate:
        """Accuracy, overall and for each of the labels; with one label any answer is right, which says nothing."""
        if len(labels) < 2:
            return Estimate(None, 0, dict.fromkeys(labels, (0, 0)))
        right = self.scores.argmax(axis=1) == self.classes
        classes = {
            label: (int((self.classes == number).sum()), int(right[self.classes == number].sum()))
            for number, label in enumerate(labels)
        }
        return Estimate(float(right.mean()) if len(right) else None, len(right), classes)
