"""The fixed sample of a task that candidates are compared on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foro.features.candidate import Candidate
from foro.types import Float32
from foro.util.parallel import spread

Forward = Callable[[Float32, Sequence[Candidate]], Float32]
"""Tokens (n, m, dim) and K candidates to what is read of every layer, (K, n, outputs, dim)."""
Fitness = Callable[[Float32], float]
"""How good what is read of every layer (n, outputs, dim) is, lower is better."""
Judge = Callable[[Sequence[Candidate]], list[float]]
"""Fitness of each of the candidates."""


class Sample(Protocol):
    """Images that were embedded once, wherever their tokens are held."""

    def layers(self, candidate: Candidate) -> Float32:
        """What is read of every layer, (n, outputs, dim), with one candidate."""
        ...

    def judge(self, fitness: Fitness, positions: NDArray[np.intp]) -> Judge:
        """The judge of candidates on the images at some positions."""
        ...


class LocalSample:
    """A sample whose tokens (n, m, dim) are held here."""

    def __init__(self, forward: Forward, tokens: Float32) -> None:
        self._forward = forward
        self._tokens = tokens

    def layers(self, candidate: Candidate) -> Float32:
        """What is read of every layer, (n, outputs, dim), with one candidate."""
        return np.asarray(self._forward(self._tokens, [candidate])[0])

    def judge(self, fitness: Fitness, positions: NDArray[np.intp]) -> Judge:
        """The judge of candidates on the images at some positions, all candidates in one pass."""
        tokens = self._tokens[positions]
        return lambda candidates: spread(fitness, self._forward(tokens, candidates))
