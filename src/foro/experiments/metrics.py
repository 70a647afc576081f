"""Measures of continual learning, from the accuracy matrix.

``accuracy[j, t]`` is a_{j,t}: the accuracy on the test images of task t after learning task j, for t ≤ j; what comes
after that is not read. Accuracies and results are fractions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


def average_accuracy(accuracy: Float64) -> float:
    """A_T = 1/T Σ_t a_{T,t}: mean accuracy over all tasks after the last one.

    >>> average_accuracy(np.array([[1.0, 0.0], [0.5, 0.9]]))
    0.7
    """
    return float(accuracy[-1].mean())


def average_forgetting(accuracy: Float64) -> float:
    """F = 1/(T−1) Σ_{t<T} max_{j<T} (a_{j,t} − a_{T,t}): how far tasks fell from their peak; 0 for a single task.

    >>> average_forgetting(np.array([[1.0, 0.0], [0.5, 0.9]]))
    0.5
    """
    last = len(accuracy) - 1
    if last == 0:
        return 0.0
    return float(np.mean([accuracy[task:last, task].max() - accuracy[last, task] for task in range(last)]))
