"""Nonlinear random projection: h = φ(x W_rp), which makes the classes of frozen features easier to separate."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from foro.config import check_seed
from foro.errors import InputError, ModelFileError
from foro.types import Arrays, Float32, Float64
from foro.util.parallel import spread
from foro.util.threads import one_blas_thread

LARGEST = 46_340
"""Largest width M: of more, the M (M + 1) / 2 numbers of a packed matrix do not fit into 8 GB."""

CHUNK = 2048
"""Columns of W_rp that a thread holds in float64 at once."""

ENOUGH = 64
"""Rows from which on several threads are worth their start."""

ROWS = 8
"""Samples are projected in multiples of this: no digit of a row then depends on how many come with it."""

MOST_FEATURES = 2**18
"""Width d of any features: ten times what the largest backbone gives."""

SURE = 3.5
"""Deviations up to which every computer draws the same bits; beyond, NumPy asks the system's own logarithm."""


def _relu(x: Float64) -> Float64:
    return np.maximum(x, 0.0, out=x)


def _gelu(x: Float64) -> Float64:
    x *= np.vectorize(math.erfc, otypes=[float])(x / -math.sqrt(2)) / 2  # exact, but slower than the others
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

    A file has the seed and a digest in place of W_rp, unless it is ``portable``: NumPy does not promise that another
    version draws the same numbers, and the digest tells where it does not.
    """

    def __init__(
        self,
        matrix: Float32,
        activation: str = "relu",
        blocks: Sequence[Block] = (),
        seed: int = 0,
        portable: bool = True,
    ) -> None:
        if activation not in ACTIVATIONS:
            raise InputError(f"unknown activation {activation!r}; choose one of {', '.join(ACTIVATIONS)}")
        self.matrix = matrix
        self.activation = activation
        self.seed = seed
        self.portable = portable
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
        return cls(matrix, activation, blocks, seed, portable=False)

    def state(self, portable: bool = False) -> tuple[Arrays, dict[str, Any]]:
        """What to store: W_rp where that is to be portable, and JSON-ready settings."""
        settings = {"activation": self.activation, "blocks": self.blocks, "seed": self.seed, "digest": self.digest}
        stored = {"projection": self.matrix} if portable or self.portable else {}
        return stored, {**settings, "shape": self.matrix.shape}

    @classmethod
    def from_state(cls, matrix: Float32 | None, settings: dict[str, Any], features: int) -> RandomProjection:
        """The projection of features of width d whose ``state`` this is, with W_rp as stored or drawn again."""
        blocks = [(int(part), int(columns), float(scale)) for part, columns, scale in settings["blocks"]]
        rows, columns = (int(each) for each in settings["shape"])
        parts = 1 + max((part for part, _, _ in blocks), default=0)
        if rows * parts != features or not 0 < features <= MOST_FEATURES:
            raise ValueError(f"a projection of {parts} parts of {rows} features does not fit {features} features")
        if any(part < 0 or count < 1 or not np.isfinite(scale) for part, count, scale in blocks):
            raise ValueError("a part of the projection is empty")
        seed = check_seed(settings["seed"])
        if matrix is not None:
            if matrix.shape != (rows, columns) or matrix.dtype != np.float32:
                raise ValueError(f"the projection has the shape {matrix.shape}, not {(rows, columns)}")
            return cls(matrix, settings["activation"], blocks, seed)
        projection = cls.draw(features, columns, settings["activation"], seed, blocks)
        if projection.digest != settings["digest"]:
            raise ModelFileError(
                f"NumPy {np.__version__} on this computer does not draw the projection that the model was taught with: "
                "where it was taught, write it with --portable"
            )
        return projection

    @cached_property
    def digest(self) -> int:
        """CRC-32 of W_rp, the same on every computer that draws the same numbers but for their last digits."""
        most = np.float32(SURE / np.sqrt(len(self.matrix)))
        return zlib.crc32(np.ascontiguousarray(np.clip(self.matrix, -most, most), "<f4").data.cast("B"))

    @property
    def features(self) -> int:
        """Width d of what is projected."""
        return len(self.matrix) * self.parts

    @one_blas_thread
    def __call__(self, features: Float64) -> Float64:
        """φ(x W_rp), shape (n, M), of features (n, d)."""
        count = len(features)
        parts = np.zeros((self.parts, count + -count % ROWS, len(self.matrix)))
        parts[:, :count] = features.reshape(count, self.parts, len(self.matrix)).transpose(1, 0, 2)
        projected = np.empty((parts.shape[1], self.matrix.shape[1]))

        def project(chunk: tuple[int, slice, float]) -> None:
            part, columns, scale = chunk
            mine = projected[:, columns]
            np.matmul(parts[part], self.matrix[:, columns].astype(np.float64), out=mine)
            ACTIVATIONS[self.activation](mine)
            if scale != 1.0:
                mine *= scale

        spread(project, self._chunks(), None if count >= ENOUGH else 1)
        return projected[:count]

    def _chunks(self) -> Iterator[tuple[int, slice, float]]:
        """The part of the features that some columns see, these columns, and what multiplies them after φ."""
        end = 0
        for part, columns, scale in self.blocks:
            start, end = end, end + columns
            for begin in range(start, end, CHUNK):
                yield part, slice(begin, min(begin + CHUNK, end)), scale

    def same_as(self, other: RandomProjection) -> bool:
        """Whether both are one projection, but for last digits that may differ between computers."""
        mine, theirs = ((each.activation, each.blocks, each.matrix.shape, each.digest) for each in (self, other))
        return self is other or mine == theirs


def primal_weights(projection: RandomProjection | None, features: Float32, dual: Float64) -> Float64:
    """The classifier W (M, c) = Hᵀα of few samples (r, d) with H = φ(x W_rp), for its dual form α (r, c)."""
    rows = np.asarray(features, np.float64)
    return np.asarray((rows if projection is None else projection(rows)).T @ dual)
