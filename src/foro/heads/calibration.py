"""Scores into probabilities: a softmax at the sharpness that fits what is known of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foro.types import Float64

SHARPEST = np.log(1e3)
TYPICAL_SHARPNESS = 10.0
"""For a classifier that knows too little to measure it."""


def probabilities(scores: Float64, sharpness: float) -> Float64:
    """Softmax (n, c) of scores (n, c)."""
    powers = np.exp(sharpness * (scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def cross_entropy(scores: Float64, classes: NDArray[np.int64], sharpness: float, smoothing: float = 0.0) -> Float64:
    """Cross-entropy (n,) of softmax(sharpness · scores) for scores (n, c) and the true classes (n,).

    With ``smoothing``, such a share of the truth is spread evenly over all classes.
    """
    from scipy.special import log_softmax

    logs = log_softmax(sharpness * scores, axis=1)
    true = logs[np.arange(len(classes)), classes]
    return np.asarray(-true if not smoothing else -(1 - smoothing) * true - smoothing * logs.mean(axis=1))


def fit_sharpness(scores: Float64, classes: NDArray[np.int64], smoothing: float = 0.0) -> float:
    """The inverse temperature with the lowest mean cross-entropy on scores of samples that were not fitted on.

    A ridge classifier's scores lie about between 0 and 1: a plain softmax of them is nearly flat.
    """
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log: float(cross_entropy(scores, classes, np.exp(log), smoothing).mean()),
        bounds=(0.0, SHARPEST),
        method="bounded",
    )
    return float(np.exp(found.x))
