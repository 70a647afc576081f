"""Scores into probabilities: a softmax at the sharpness that fits what is known of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from foro.knowledge.packed import Float64

SHARPEST = np.log(1e3)


def cross_entropy(scores: Float64, classes: NDArray[np.int64], sharpness: float) -> Float64:
    """Cross-entropy (n,) of softmax(sharpness · scores) for scores (n, c) and the true classes (n,)."""
    return np.asarray(-log_softmax(sharpness * scores, axis=1)[np.arange(len(classes)), classes])


def fit_sharpness(scores: Float64, classes: NDArray[np.int64]) -> float:
    """The inverse temperature with the lowest mean cross-entropy on scores of samples that were not fitted on.

    A ridge classifier's scores lie about between 0 and 1: a plain softmax of them is nearly flat.
    """
    found = minimize_scalar(
        lambda log: float(cross_entropy(scores, classes, np.exp(log)).mean()), bounds=(0.0, SHARPEST), method="bounded"
    )
    return float(np.exp(found.x))
