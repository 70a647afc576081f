"""Which tokens of a forward pass the head sees: the readout.

Every pass computes the CLS of each layer and mean patch tokens; reading more than the last CLS costs no pass. Tokens
are normalised one by one, without any statistic, so that a feature never depends on other samples and models stay
mergeable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.errors import InputError
from foro.types import Float32

DEFAULT = "groups"
LAST, EARLIER, MEANS = 1.0, 2.0, 0.5
"""Weights of the last CLS, of all earlier CLS together, and of the mean patch tokens."""

PILOT = 1024
"""Columns that are a small copy of the whole projection."""

EPSILON = np.float32(1e-6)


@dataclass(frozen=True)
class Token:
    """One token of a feature vector: outputs of ``Backbone.forward`` that are added up, and its own projection.

    ``share`` is its part of the projection's columns, ``weight`` the part of its features in the squared norm of a
    sample. A token that is ``centred`` is normalised to mean 0 and deviation 1, another one to mean square 1.
    """

    outputs: tuple[int, ...]
    share: float = 1.0
    weight: float = 1.0
    centred: bool = True


@dataclass(frozen=True)
class Readout:
    """Tokens that are read, by name and for the depth of a backbone.

    ``groups``: half of the projection sees the last CLS; a quarter the CLS of the layers before it, each with its own
    part; a quarter the sum of the mean patch tokens. ``cls``: the last CLS as it is, as in the paper. ``cls6``, or any
    number: the last six CLS side by side, in one projection.
    """

    name: str
    dim: int
    tokens: tuple[Token, ...]
    together: bool = False  # all tokens in one projection
    raw: bool = False  # not normalised

    @classmethod
    def of(cls, name: str, backbone: Backbone) -> Readout:
        """The readout of a name for a backbone."""
        depth, dim = backbone.depth, backbone.dim
        if name == "groups":
            earlier = min(depth - 1, (5 * depth + 6) // 12)  # 5/12 of the depth, rounded
            if not earlier:
                return cls(name, dim, (Token((depth - 1,), centred=False),))
            before = [Token((depth - 2 - each,), 0.25 / earlier, EARLIER / earlier) for each in range(earlier)]
            means = Token(tuple(range(depth, backbone.outputs)), 0.25, MEANS)
            return cls(name, dim, (Token((depth - 1,), 0.5, LAST, centred=False), *before, means))
        if found := re.fullmatch(r"cls(\d*)", name):
            count = int(found[1] or 1)
            if not 1 <= count <= depth:
                raise InputError(f"readout {name} needs {count} layers, but {backbone.name} has {depth}")
            tokens = tuple(Token((layer,)) for layer in range(depth - count, depth))
            return cls(name, dim, tokens, together=True, raw=count == 1)
        raise InputError(f"readout must be groups, cls or cls and a number of layers, not {name!r}")

    @property
    def features(self) -> int:
        """Width d of a feature vector."""
        return self.dim * len(self.tokens)

    def blocks(self, projection_dim: int) -> list[tuple[int, int, float]]:
        """The token that each block of the projection's columns sees, its columns, and what multiplies its features.

        The first columns are a small copy of the whole: the search for γ begins with them.
        """
        if self.together:
            return []
        if projection_dim < 2 * len(self.tokens):
            raise InputError(f"readout {self.name} needs a projection_dim of at least {2 * len(self.tokens)}")
        each_has = self._columns(projection_dim)
        front = np.minimum(self._columns(min(PILOT, projection_dim)), each_has)  # both are rounded
        whole = sum(token.weight for token in self.tokens)
        scales = [
            float(np.sqrt(token.weight / whole * projection_dim / each))
            for token, each in zip(self.tokens, each_has, strict=True)
        ]
        return [
            (part, int(columns), scales[part])
            for band in (front, each_has - front)
            for part, columns in enumerate(band)
            if columns > 0
        ]

    def _columns(self, columns: int) -> NDArray[np.intp]:
        """How many of the columns each token has: its share, and at least one."""
        bounds = np.rint(np.cumsum([0.0] + [token.share for token in self.tokens]) * columns)
        each = np.maximum(np.diff(bounds).astype(np.intp), 1)
        each[0] += columns - each.sum()
        return np.asarray(each)

    def __call__(self, layers: Float32) -> Float32:
        """Features (n, d) of what ``Backbone.forward`` gives for samples, (n, outputs, dim)."""
        if self.raw:
            return np.ascontiguousarray(layers[:, self.tokens[0].outputs[0]])
        features = np.empty((len(layers), len(self.tokens), self.dim), np.float32)
        for number, token in enumerate(self.tokens):
            parts = _normalised(layers[:, list(token.outputs)], token.centred)
            # Tokens of neighbouring blocks are alike: their sum has another norm for every backbone.
            features[:, number] = parts[:, 0] if len(token.outputs) == 1 else _normalised(parts.sum(axis=1), False)
        return features.reshape(len(layers), self.features)


def _normalised(tokens: Float32, centred: bool) -> Float32:
    """Tokens (…, dim) at mean square 1, and with ``centred`` at mean 0."""
    if centred:
        tokens = tokens - tokens.mean(axis=-1, keepdims=True)
    return np.asarray(tokens / (np.sqrt(np.square(tokens).mean(axis=-1, keepdims=True)) + EPSILON))
