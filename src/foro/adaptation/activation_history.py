"""Activation history: running mean and deviation of every layer's CLS, over tasks (μ^G and σ^G in the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.types import Float32


@dataclass(frozen=True)
class ActivationHistory:
    """Mean and standard deviation (depth, dim) of the CLS of every layer."""

    mean: Float32
    deviation: Float32

    @classmethod
    def of(cls, layers: Float32) -> ActivationHistory:
        """The statistics of one set of samples, layers (n, depth, dim)."""
        return cls(layers.mean(axis=0), layers.std(axis=0))

    def updated(self, task: ActivationHistory, rate: float) -> ActivationHistory:
        """α · task + (1 − α) · history."""
        return ActivationHistory(
            rate * task.mean + (1 - rate) * self.mean, rate * task.deviation + (1 - rate) * self.deviation
        )

    def discrepancy(self, task: ActivationHistory) -> float:
        """Σ over layers of ‖μ − μ^G‖₂ + ‖σ − σ^G‖₂: term (b) of the paper's fitness, without λ."""
        means = np.linalg.norm(task.mean - self.mean, axis=1)
        deviations = np.linalg.norm(task.deviation - self.deviation, axis=1)
        return float(means.sum() + deviations.sum())


class RunningActivations:
    """Mean and deviation over the batches of a task, without keeping them."""

    def __init__(self) -> None:
        self._samples = 0
        self._sum: NDArray[np.float64] | float = 0.0
        self._squares: NDArray[np.float64] | float = 0.0

    def add(self, layers: Float32) -> None:
        """Takes in a batch of CLS of every layer (n, depth, dim)."""
        self._samples += len(layers)
        self._sum = self._sum + layers.sum(axis=0, dtype=np.float64)
        self._squares = self._squares + np.square(layers, dtype=np.float64).sum(axis=0)

    def result(self) -> ActivationHistory:
        """The statistics of everything added."""
        mean = np.asarray(self._sum) / self._samples
        variance = np.maximum(np.asarray(self._squares) / self._samples - mean**2, 0.0)
        return ActivationHistory(mean.astype(np.float32), np.sqrt(variance).astype(np.float32))
