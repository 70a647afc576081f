"""CMA-ES over prompts and gains, by pycma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foro.config import Covariance
from foro.features.candidate import Candidate
from foro.types import Float32, Float64


@dataclass(frozen=True)
class Space:
    """The numbers that are evolved, as one vector: the tokens of a prompt, then three gains for each block.

    A prompt starts at zero with ``prompt_step`` as its deviation, gains at zero, which is neutral, with ``gain_step``.
    """

    dim: int
    depth: int
    prompt_tokens: int = 0
    gains: bool = False
    prompt_step: float = 1.0
    gain_step: float = 0.1

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.prompt_tokens * self.dim + (3 * self.depth if self.gains else 0)

    def candidate(self, vector: Float32) -> Candidate:
        """The candidate that a vector (size,) stands for."""
        length = self.prompt_tokens * self.dim
        return Candidate(
            vector[:length].reshape(self.prompt_tokens, self.dim) if length else None,
            vector[length:].reshape(self.depth, 3) if self.gains else None,
        )

    def initial(self) -> Distribution:
        """m = 0, Σ diagonal."""
        steps = np.full(self.size, self.gain_step, np.float32)
        steps[: self.prompt_tokens * self.dim] = self.prompt_step
        return Distribution(np.zeros(self.size, np.float32), steps)


@dataclass(frozen=True)
class Distribution:
    """Where candidates are drawn from: mean m and the deviation of each number, τ √diag Σ, both (size,)."""

    mean: Float32
    deviation: Float32


class Evolution:
    """Asks for candidates and is told their fitness, a generation at a time.

    The covariance of hundreds of numbers cannot be learned in tens of generations, so for prompts it is separable
    unless asked otherwise. A full covariance starts anew from its diagonal in each evolution: only that is stored.
    """

    def __init__(
        self, start: Distribution, population: int = 6, covariance: Covariance = "separable", seed: int = 0
    ) -> None:
        import cma  # takes a second to import, and only learning needs it

        generator = np.random.default_rng(seed)
        deviation = start.deviation.astype(np.float64)
        step = float(np.sqrt((deviation**2).mean()))
        options = {
            "popsize": population,
            "CMA_stds": deviation / step,
            "CMA_diagonal": covariance == "separable",
            "randn": lambda *shape: generator.standard_normal(shape),
            "seed": np.nan,  # or pycma would seed NumPy's global generator
            "verbose": -9,
        }
        centre = start.mean.astype(np.float64)
        self._strategy: Any = cma.CMAEvolutionStrategy(centre, step, options)
        if population < 4 and self._strategy.mean_shift_samples:
            # In many dimensions pycma adapts the step by two candidates along the last shift of the mean, and mirrors a
            # third: a generation of two has no room for that one, and a generation of three would explore nothing.
            self._strategy = cma.CMAEvolutionStrategy(centre, step, {**options, "CMA_mirrormethod": 0})
        self._asked: list[Float64] = []

    def ask(self) -> list[Float32]:
        """The next generation's K vectors (size,)."""
        self._asked = self._strategy.ask()
        return [np.asarray(each, np.float32) for each in self._asked]

    def tell(self, fitness: list[float]) -> None:
        """Fitness of the candidates last asked for, lower is better."""
        self._strategy.tell(self._asked, fitness)

    @property
    def distribution(self) -> Distribution:
        """Where the next candidates would be drawn from."""
        mean = np.asarray(self._strategy.mean, np.float32)
        return Distribution(mean, np.asarray(self._strategy.stds, np.float32))
