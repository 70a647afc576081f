"""None of these: how likely a sample is of no class that was ever learned."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from foro.types import Arrays, Float32, Float64

KEPT = 0.95
"""Share of new samples of known classes whose chance of being unknown is to be below one half."""

FEW = 6
"""With fewer classes, leaving one out says little of how much others differ."""

LEAST = 1e-6
"""Of a distance whose logarithm is taken."""

LARGEST_ODDS = 30.0
"""Log-odds beyond which nothing changes in what is shown."""


@dataclass(frozen=True)
class Coefficients:
    """Log-odds of being unknown: ``score`` · best score + ``distance`` · distance + ``constant``."""

    score: float
    distance: float
    constant: float

    @classmethod
    def from_settings(cls, settings: dict[str, float] | None) -> Coefficients | None:
        """The coefficients among what ``Familiarity.state`` gave; None of None."""
        return None if settings is None else cls(*(float(settings[each.name]) for each in fields(cls)))


@dataclass(frozen=True, eq=False)
class Familiarity:
    """The distance of a sample to the nearest class, and what it says together with the best score.

    With y = x − m in each of t tokens of width v, the distance is Σ yᵀQy − maxⱼ(yᵀBⱼ + cⱼ), for each dimension: the
    relative Mahalanobis distance, least squared distance to a class mean under the covariance within classes, less
    the one to the overall mean under the overall covariance. With fewer than six classes Q has the covariance
    within classes alone, and the logarithm of the distance counts.
    """

    first: int  # feature at which the first token begins
    centre: Float32  # (t, v)
    quadratic: Float32  # (t, v, v)
    linear: Float32  # (t, v, c)
    offsets: Float32  # (c,)
    coefficients: Coefficients

    @property
    def logarithmic(self) -> bool:
        """Whether the logarithm of the distance counts, for want of classes."""
        return len(self.offsets) < FEW

    def distances(self, features: Float64) -> Float64:
        """Distances (n,) of feature vectors (n, d)."""
        tokens, width = self.centre.shape
        quadratic, nearest = np.zeros(len(features)), self.offsets.astype(np.float64) + np.zeros((len(features), 1))
        for token in range(tokens):
            start = self.first + token * width
            y = features[:, start : start + width] - self.centre[token].astype(np.float64)
            quadratic += (y @ self.quadratic[token].astype(np.float64) * y).sum(axis=1)
            nearest += y @ self.linear[token].astype(np.float64)
        distances = (quadratic - nearest.max(axis=1)) / width
        return np.log(np.maximum(distances, LEAST)) if self.logarithmic else np.asarray(distances)

    def unknown(self, features: Float64, scores: Float64) -> Float64:
        """The chance (n,) that samples are of no known class, of their features (n, d) and scores (n, c)."""
        how = self.coefficients
        odds = how.score * scores.max(axis=1) + how.distance * self.distances(features) + how.constant
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -LARGEST_ODDS, LARGEST_ODDS))))

    def state(self) -> tuple[Arrays, dict[str, float]]:
        """Arrays to store, of each symmetric matrix one half, and JSON-ready settings."""
        upper = np.triu_indices(self.centre.shape[1])
        arrays: Arrays = {
            "centre": self.centre,
            "quadratic": self.quadratic[:, upper[0], upper[1]],
            "linear": self.linear,
            "offsets": self.offsets,
        }
        return arrays, {"first": self.first, **vars(self.coefficients)}

    @classmethod
    def from_state(cls, arrays: Arrays, settings: dict[str, float]) -> Familiarity:
        """What ``state`` gave; an array of another shape is a ValueError."""
        centre, halves, linear, offsets = (arrays[name] for name in ("centre", "quadratic", "linear", "offsets"))
        tokens, width = centre.shape
        if linear.shape != (tokens, width, len(offsets)) or halves.shape != (tokens, width * (width + 1) // 2):
            raise ValueError("the parts that tell known from unknown do not fit each other")
        upper = np.triu_indices(width)
        quadratic = np.zeros((tokens, width, width), np.float32)
        quadratic[:, upper[0], upper[1]] = halves
        quadratic[:, upper[1], upper[0]] = halves
        coefficients = Coefficients.from_settings(settings)
        assert coefficients is not None
        return cls(int(settings["first"]), centre, quadratic, linear, offsets, coefficients)
