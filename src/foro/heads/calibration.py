"""Scores into probabilities: a softmax at the sharpness that fits what is known of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foro.types import Float64

SHARPEST = 1e3
TYPICAL_SHARPNESS = 10.0
"""For a classifier that knows too little to measure it."""

PRECISION = 1e-6
"""Relative, of the sharpness that is found."""


def probabilities(scores: Float64, sharpness: float) -> Float64:
    """Softmax (n, c) of scores (n, c)."""
    powers = np.exp(sharpness * (scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def cross_entropy(scores: Float64, classes: NDArray[np.int64], sharpness: float, smoothing: float = 0.0) -> Float64:
    """Cross-entropy (n,) of softmax(sharpness · scores) for scores (n, c) and the true classes (n,).

    With ``smoothing``, such a share of the truth is spread evenly over all classes.
    """
    logs = sharpness * (scores - scores.max(axis=1, keepdims=True))
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    true = logs[np.arange(len(classes)), classes]
    return np.asarray(-true if not smoothing else -(1 - smoothing) * true - smoothing * logs.mean(axis=1))


def fit_sharpness(scores: Float64, classes: NDArray[np.int64], smoothing: float = 0.0) -> float:
    """The inverse temperature with the lowest mean cross-entropy on scores of samples that were not fitted on.

    A ridge classifier's scores lie about between 0 and 1: a plain softmax of them is nearly flat. The cross-entropy is
    convex in the sharpness: Newton's steps, or halves of what is left where these would lead out of it.
    """
    true = scores[np.arange(len(classes)), classes]
    wanted = (1 - smoothing) * true + smoothing * scores.mean(axis=1)
    low, high, sharpness = 1.0, SHARPEST, TYPICAL_SHARPNESS
    while high > low * (1 + PRECISION):
        weights = probabilities(scores, sharpness)
        mean = (weights * scores).sum(axis=1)
        slope = float((mean - wanted).mean())
        curvature = float((weights * (scores - mean[:, None]) ** 2).sum(axis=1).mean())
        low, high = (low, sharpness) if slope > 0 else (sharpness, high)
        following = sharpness - slope / curvature if curvature > 0 else np.inf
        if not low < following < high:
            following = float(np.sqrt(low * high))
        if abs(following - sharpness) <= PRECISION * sharpness:
            return following
        sharpness = following
    return sharpness
