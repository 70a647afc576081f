"""Nonlinear random projection: h = φ(x W_rp), which makes the classes of frozen features easier to separate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foro.errors import InputError
from foro.heads.ridge.packed import LARGEST
from foro.types import Float32, Float64


def _relu(x: Float64) -> Float64:
    return np.maximum(x, 0.0, out=x)


def _gelu(x: Float64) -> Float64:
    from scipy.special import ndtr  # on first use: the others need no scipy

    x *= ndtr(x)
    return x


def _tanh(x: Float64) -> Float64:
    return np.tanh(x, out=x)


CHUNK = 2048
"""Columns of W_rp that are held in float64 at once."""

ACTIVATIONS: dict[str, Callable[[Float64], Float64]] = {"relu": _relu, "gelu": _gelu, "tanh": _tanh}


class RandomProjection:
    """Maps features (n, d) to (n, M) by φ(x W_rp) with W_rp ~ N(0, 1/d).

    W_rp is stored in float32 and applied in float64: a product in float32 would round differently for every batch
    size, and what is learned would depend on how the samples were cut into batches.
    """

    def __init__(self, matrix: Float32, activation: str = "relu") -> None:
        if activation not in ACTIVATIONS:
            raise InputError(f"unknown activation {activation!r}; choose one of {', '.join(ACTIVATIONS)}")
        self.matrix = matrix
        self.activation = activation

    @classmethod
    def draw(cls, features: int, projection_dim: int, activation: str, seed: int) -> RandomProjection:
        if not 1 <= projection_dim <= LARGEST:
            raise InputError(f"projection_dim must be between 1 and {LARGEST}, not {projection_dim}")
        matrix = np.random.default_rng(seed).standard_normal((features, projection_dim), dtype=np.float32)
        matrix /= np.float32(np.sqrt(features))
        return cls(matrix, activation)

    def __call__(self, features: Float64) -> Float64:
        projected = np.empty((len(features), self.matrix.shape[1]))
        for start in range(0, projected.shape[1], CHUNK):
            part = slice(start, start + CHUNK)
            np.matmul(features, self.matrix[:, part].astype(np.float64), out=projected[:, part])
        return ACTIVATIONS[self.activation](projected)

    def same_as(self, other: RandomProjection) -> bool:
        return self.activation == other.activation and np.array_equal(self.matrix, other.matrix)
