"""Nonlinear random projection: h = φ(x W_rp), which makes the classes of frozen features easier to separate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from foro.errors import InputError
from foro.types import Float32, Float64
from foro.util.parallel import spread
from foro.util.threads import one_blas_thread

LARGEST = 46_340
"""Largest width M: LAPACK counts the M (M + 1) / 2 numbers of a packed matrix in 32 bits."""

CHUNK = 2048
"""Columns of W_rp that a thread holds in float64 at once."""

ENOUGH = 64
"""Rows from which on several threads are worth their start."""


def _relu(x: Float64) -> Float64:
    return np.maximum(x, 0.0, out=x)


def _gelu(x: Float64) -> Float64:
    from scipy.special import ndtr  # on first use: the others need no scipy

    x *= ndtr(x)
    return x


def _tanh(x: Float64) -> Float64:
    return np.tanh(x, out=x)


ACTIVATIONS: dict[str, Callable[[Float64], Float64]] = {"relu": _relu, "gelu": _gelu, "tanh": _tanh}

Block = tuple[int, int, float]
"""Which part of the features is seen by how many columns of W_rp, and what multiplies these after φ."""


class RandomProjection:
    """Maps features (n, d) to (n, M) by φ(x W_rp) with W_rp ~ N(0, 1/d).

    With ``blocks``, features are cut into equal parts, and each block of columns sees one of them: W_rp then has d
    divided by the number of parts rows. It is stored in float32 and applied in float64: a product in float32 would
    round differently for every batch size, and what is learned would depend on how the samples were cut into batches.
    """

    def __init__(self, matrix: Float32, activation: str = "relu", blocks: Sequence[Block] = ()) -> None:
        if activation not in ACTIVATIONS:
            raise InputError(f"unknown activation {activation!r}; choose one of {', '.join(ACTIVATIONS)}")
        self.matrix = matrix
        self.activation = activation
        self.blocks: tuple[Block, ...] = tuple(blocks) or ((0, matrix.shape[1], 1.0),)
        self.parts = 1 + max(part for part, _, _ in self.blocks)
        if sum(columns for _, columns, _ in self.blocks) != matrix.shape[1]:
            raise ValueError("the blocks of the projection do not have as many columns as its matrix")

    @classmethod
    def draw(
        cls, features: int, projection_dim: int, activation: str, seed: int, blocks: Sequence[Block] = ()
    ) -> RandomProjection:
        """A projection of features of width d to M = ``projection_dim`` columns."""
        if not 1 <= projection_dim <= LARGEST:
            raise InputError(f"projection_dim must be between 1 and {LARGEST}, not {projection_dim}")
        rows = features // (1 + max((part for part, _, _ in blocks), default=0))
        matrix = np.random.default_rng(seed).standard_normal((rows, projection_dim), dtype=np.float32)
        matrix /= np.float32(np.sqrt(rows))
        return cls(matrix, activation, blocks)

    @property
    def features(self) -> int:
        """Width d of what is projected."""
        return len(self.matrix) * self.parts

    @one_blas_thread
    def __call__(self, features: Float64) -> Float64:
        """φ(x W_rp), shape (n, M), of features (n, d)."""
        projected = np.empty((len(features), self.matrix.shape[1]))
        parts = np.ascontiguousarray(features.reshape(len(features), self.parts, len(self.matrix)).transpose(1, 0, 2))

        def project(chunk: tuple[int, slice, float]) -> None:
            part, columns, scale = chunk
            mine = projected[:, columns]
            np.matmul(parts[part], self.matrix[:, columns].astype(np.float64), out=mine)
            ACTIVATIONS[self.activation](mine)
            if scale != 1.0:
                mine *= scale

        spread(project, self._chunks(), None if len(features) >= ENOUGH else 1)
        return projected

    def _chunks(self) -> Iterator[tuple[int, slice, float]]:
        """The part of the features that some columns see, these columns, and what multiplies them after φ."""
        end = 0
        for part, columns, scale in self.blocks:
            start, end = end, end + columns
            for begin in range(start, end, CHUNK):
                yield part, slice(begin, min(begin + CHUNK, end)), scale

    def same_as(self, other: RandomProjection) -> bool:
        return (self.activation, self.blocks) == (other.activation, other.blocks) and np.array_equal(
            self.matrix, other.matrix
        )
