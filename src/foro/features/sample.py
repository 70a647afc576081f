"""The fixed sample of a task that candidates are compared on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foro.types import Float32

Forward = Callable[[Float32, Float32 | None], Float32]
"""``Backbone.forward``: tokens (n, m, dim) and candidates (K, P, dim) to the CLS of every layer (K, n, depth, dim)."""
Fitness = Callable[[Float32], float]
"""How good the CLS of every layer (n, depth, dim) are, lower is better."""
Judge = Callable[[Float32], list[float]]
"""Fitness of each of the candidates (K, P, dim)."""


class Sample(Protocol):
    """Images that were embedded once, wherever their tokens are held."""

    def layers(self, prompt: Float32 | None) -> Float32:
        """CLS of every layer (n, depth, dim) with one prompt (P, dim)."""
        ...

    def judge(self, fitness: Fitness, positions: NDArray[np.intp]) -> Judge:
        """The judge of candidates on the images at some positions."""
        ...


class LocalSample:
    """A sample whose tokens (n, m, dim) are held here."""

    def __init__(self, forward: Forward, tokens: Float32) -> None:
        self._forward = forward
        self._tokens = tokens

    def layers(self, prompt: Float32 | None) -> Float32:
        """CLS of every layer (n, depth, dim) with one prompt (P, dim)."""
        layers: Float32 = self._forward(self._tokens, None if prompt is None else prompt[None])[0]
        return layers

    def judge(self, fitness: Fitness, positions: NDArray[np.intp]) -> Judge:
        """The judge of candidates on the images at some positions, all candidates in one pass."""
        tokens = self._tokens[positions]
        return lambda candidates: [fitness(layers) for layers in self._forward(tokens, candidates)]
