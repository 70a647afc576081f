"""Measures of continual learning, from the accuracy matrix.

``accuracy[j, t]`` is a_{j,t}: the accuracy on the test images of task t after learning task j, for t ≤ j; what comes
after that is not read. Accuracies and results are fractions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foro.types import Float64


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


def average_incremental_accuracy(accuracy: Float64) -> float:
    """1/T Σ_j (1/j Σ_{t≤j} a_{j,t}): A_j averaged over every moment of the stream, not its end alone.

    >>> average_incremental_accuracy(np.array([[1.0, 0.0], [0.5, 0.9]]))
    0.85
    """
    return float(np.mean([accuracy[now, : now + 1].mean() for now in range(len(accuracy))]))


def last_accuracy(accuracy: Float64, test_images: Sequence[int]) -> float:
    """Σ_t n_t a_{T,t} / Σ_t n_t with n_t test images of task t: the share of all test images that is right at the end.

    It is A_T where tasks have equally many test images.

    >>> last_accuracy(np.array([[1.0, 0.0], [0.5, 0.9]]), [10, 30])
    0.8
    """
    return float(np.average(accuracy[-1], weights=test_images))


def backward_transfer(accuracy: Float64) -> float:
    """1/(T−1) Σ_{t<T} (a_{T,t} − a_{t,t}): what later tasks did to earlier ones; 0 for a single task.

    Negative where they were forgotten. It differs from −F where a task was at its best later than when it was learned.

    >>> backward_transfer(np.array([[1.0, 0.0], [0.5, 0.9]]))
    -0.5
    """
    last = len(accuracy) - 1
    if last == 0:
        return 0.0
    return float(np.mean([accuracy[last, task] - accuracy[task, task] for task in range(last)]))
