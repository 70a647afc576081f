"""CMA-ES over prompt tokens, by pycma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.config import Covariance
from foro.types import Float32


@dataclass(frozen=True)
class PromptDistribution:
    """Where candidates are drawn from: mean m (P, dim) and the deviation of each coordinate, τ √diag Σ (P, dim)."""

    mean: Float32
    deviation: Float32

    @classmethod
    def initial(cls, tokens: int, dim: int, step: float = 1.0) -> PromptDistribution:
        """m = 0, Σ = I, τ = step."""
        return cls(np.zeros((tokens, dim), np.float32), np.full((tokens, dim), step, np.float32))


class PromptEvolution:
    """Asks for candidates and is told their fitness, a generation at a time.

    The covariance of hundreds of coordinates cannot be learned in tens of generations, so it is separable unless asked
    otherwise. A full covariance starts anew from its diagonal in each evolution: only that is stored between tasks.
    """

    def __init__(
        self, start: PromptDistribution, population: int = 6, covariance: Covariance = "separable", seed: int = 0
    ) -> None:
        import cma  # takes a second to import, and only learning needs it

        self._shape = start.mean.shape
        generator = np.random.default_rng(seed)
        deviation = start.deviation.astype(np.float64).ravel()
        step = float(np.sqrt((deviation**2).mean()))
        options = {
            "popsize": population,
            "CMA_stds": deviation / step,
            "CMA_diagonal": covariance == "separable",
            "randn": lambda *shape: generator.standard_normal(shape),
            "seed": np.nan,  # or pycma would seed NumPy's global generator
            "verbose": -9,
        }
        centre = start.mean.astype(np.float64).ravel()
        self._strategy: Any = cma.CMAEvolutionStrategy(centre, step, options)
        if population < 4 and self._strategy.mean_shift_samples:
            # In many dimensions pycma adapts the step by two candidates along the last shift of the mean, and mirrors a
            # third: a generation of two has no room for that one, and a generation of three would explore nothing.
            self._strategy = cma.CMAEvolutionStrategy(centre, step, {**options, "CMA_mirrormethod": 0})
        self._asked: list[NDArray[np.float64]] = []

    def ask(self) -> Float32:
        """The next generation's candidates (K, P, dim)."""
        self._asked = self._strategy.ask()
        return np.stack(self._asked).reshape(-1, *self._shape).astype(np.float32)

    def tell(self, fitness: list[float]) -> None:
        """Fitness of the candidates last asked for, lower is better."""
        self._strategy.tell(self._asked, fitness)

    @property
    def distribution(self) -> PromptDistribution:
        """Where the next candidates would be drawn from."""
        mean = np.asarray(self._strategy.mean, np.float32).reshape(self._shape)
        return PromptDistribution(mean, np.asarray(self._strategy.stds, np.float32).reshape(self._shape))
