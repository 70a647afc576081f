"""Generalised cross-validation: the γ that predicts best, from the sufficient statistics alone.

GCV(γ) = n ‖Y − HW‖² / (n − dof)² with W = (G + γI)⁻¹C and dof = tr(G (G + γI)⁻¹). It needs no sample, so it sees all
tasks ever learned. Of samples that came k times, n in the denominator is n / k: G, C and the residual are k times those
of the distinct samples, and dof is that of γ / k among them, so that this is their GCV. Otherwise copies would predict
each other, and γ would be too small.

γ is taken from a fixed grid of four values a decade: a choice from a grid is the same on every machine and for every
order of the samples, where a continuous one would differ in its last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foro.errors import InputError
from foro.heads.ridge import packed
from foro.heads.ridge.statistics import Statistics
from foro.types import Float64

NOT_POSITIVE = "the statistics are not positive: samples were removed that had never been learned"

STEPS_PER_DECADE = 4
LOWEST, HIGHEST = 1e-6, 1e3
"""Ends of the grid, in units of the mean squared norm of a sample."""

NOISE = 1e-12
"""Part of a sum below which it is rounding: what is left of ‖Y‖², or an eigenvalue beside the largest."""

TIE = 1e-6
"""Relative difference of GCV below which two γ are equally good; far above what rounding can make of it."""


def grid_value(index: int) -> float:
    return float(10.0 ** (index / STEPS_PER_DECADE))


def grid_index(value: float) -> int:
    return round(float(np.log10(value)) * STEPS_PER_DECADE)


def grid(trace: float, samples: int) -> range:
    """Indices of all γ to choose from, for statistics of this trace."""
    scale = trace / samples
    return range(grid_index(LOWEST * scale), grid_index(HIGHEST * scale) + 1)


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues (r,) of G and VᵀC (r, c) for its eigenvectors V: the ridge solution and GCV for every γ at once.

    V (M, r) is ``vectors``, or ``basis @ vectors`` for a basis (M, k) of the samples' span.
    """

    values: Float64
    basis: Float64 | None
    vectors: Float64
    cross: Float64
    samples: int
    distinct: float  # samples, copies of one image as one
    targets_norm: float  # ‖Y‖²: the number of samples that have a class

    @classmethod
    def of_matrix(cls, gram: Float64, statistics: Statistics, share: float = 1.0) -> Spectrum:
        """Of a dense Gram matrix of the first ``len(gram)`` features."""
        values, vectors = np.linalg.eigh(gram)
        if values[0] < -10 * len(gram) * np.finfo(np.float64).eps * values[-1]:
            raise InputError(NOT_POSITIVE)
        kept = values > values[-1] * NOISE
        values, vectors = values[kept], vectors[:, kept]
        return cls._of(values, None, vectors, vectors.T @ statistics.cross[: len(gram)], statistics, share)

    @classmethod
    def of_rows(cls, rows: Float64, statistics: Statistics, share: float = 1.0) -> Spectrum:
        """Of G = rowsᵀ rows (M, M): by the eigenvalues of HHᵀ (n, n) for fewer rows H than features."""
        if len(rows) > rows.shape[1]:
            return cls.of_matrix(rows.T @ rows, statistics, share)
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept = values > values[-1] * NOISE
        values, vectors = values[kept], vectors[:, kept]
        roots = np.sqrt(values)[:, None]
        if statistics.complete:  # C = HᵀY, which need not be divided by small numbers
            cross = roots * (vectors.T @ statistics.tail_targets())
        else:
            cross = vectors.T @ (rows @ statistics.cross) / roots
        return cls._of(values, rows.T, vectors / roots.T, cross, statistics, share)

    @classmethod
    def _of(
        cls,
        values: Float64,
        basis: Float64 | None,
        vectors: Float64,
        cross: Float64,
        statistics: Statistics,
        share: float,
    ) -> Spectrum:
        labelled, samples = float(statistics.counts.sum()), statistics.samples
        return cls(values, basis, vectors, cross, samples, share * samples, labelled)

    def weights(self, regularisation: float) -> Float64:
        """W (M, c) = V (Λ + γI)⁻¹ VᵀC; C has no part outside the span of V."""
        weights = self.vectors @ self.along_weights(regularisation)
        return weights if self.basis is None else self.basis @ weights

    def along_weights(self, regularisation: float) -> Float64:
        """VᵀW (r, c)."""
        return np.asarray(self.cross / (self.values + regularisation)[:, None])

    def along(self, rows: Float64) -> Float64:
        """Rows (n, M) along the eigenvectors, HV (n, r)."""
        return np.asarray((rows if self.basis is None else rows @ self.basis) @ self.vectors)

    def along_basis(self, numbers: list[int]) -> Float64:
        """The same of some of the rows that it was made of: HHᵀ has the same eigenvalues."""
        return np.asarray(self.vectors[numbers] * self.values)

    def leverages(self, along: Float64, regularisation: float) -> Float64:
        """hᵀ(G + γI)⁻¹h (n,) of rows within the span of V, given along the eigenvectors (n, r)."""
        return np.asarray((along**2 / (self.values + regularisation)).sum(axis=1))

    def gcv(self, regularisation: float) -> float:
        """Written as sums of squares, so that small γ does not lose it in differences of large numbers."""
        kept_energy = (self.cross**2).sum(axis=1) / self.values  # of Y along each direction
        shrunk = regularisation / (self.values + regularisation)
        outside = self.targets_norm - float(kept_energy.sum())  # of Y, where no γ reaches
        residual = outside if outside > NOISE * self.targets_norm else 0.0
        residual += float((kept_energy * shrunk**2).sum())
        freedom = self.distinct - len(self.values) + float(shrunk.sum())
        return self.samples * residual / freedom**2 if freedom > 0 else np.inf

    def best_index(self) -> int:
        """Grid index of the lowest GCV; of equal ones, the strongest regularisation."""
        if not len(self.values):
            return 0  # all features are zero, and every γ is as good
        indices = grid(float(self.values.sum()), self.samples)
        scores = np.array([self.gcv(grid_value(index)) for index in indices])
        return indices[int(np.flatnonzero(scores <= scores.min() * (1 + TIE))[-1])]

    def minimum(self) -> float:
        """Where on the grid GCV is lowest, between the indices too."""
        index = self.best_index()
        left, middle, right = (np.log(self.gcv(grid_value(index + step))) for step in (-1, 0, 1))
        bend = float(left - 2 * middle + right)
        if not np.isfinite(bend) or bend <= 0:  # at an end of what is possible
            return index
        return index - float(right - left) / 2 / bend


SPECTRAL_SIZE = 1024
"""Largest Gram matrix that is solved by its eigenvalues: about 5 % of a Cholesky factorisation at M = 8192."""

PILOT_SIZE = 512
"""Largest Gram matrix whose eigenvalues are computed to search for γ."""

MOST_AHEAD = 4.0
"""Steps of the grid that a guess may be away from what it is made of."""


def halves(statistics: Statistics) -> list[Statistics]:
    """Those of every second feature, of every fourth and so on; the smallest first, and none for an odd size.

    Every second feature has all kinds of them, whatever the order in which a projection has them.
    """
    found = [statistics]
    while found[0].size > PILOT_SIZE // 2 and found[0].size % 4 == 0:
        whole, half = found[0], Statistics(found[0].size // 2)
        assert whole.gram is not None
        half.samples, half.counts, half.cross = whole.samples, whole.counts, np.asfortranarray(whole.cross[::2])
        half.gram = packed.every_second(whole.gram, whole.size)
        found.insert(0, half)
    return found[:-1]


def extrapolated(places: list[float]) -> float:
    """Where the best γ of twice as many features should be, from those of 1/4, 1/2 and all of them.

    It moves slowly and smoothly, along a parabola over the logarithm of their number.
    """
    last = places[-1]
    ahead = last - places[-2] if len(places) > 1 else 0.0
    if len(places) > 2:
        ahead += last - 2 * places[-2] + places[-3]
    return last + float(np.clip(ahead, -MOST_AHEAD, MOST_AHEAD))


def pilot(statistics: Statistics, share: float = 1.0) -> float:
    """Where on the grid the best γ of few features is, by eigenvalues; of many, that of the first of them."""
    assert statistics.gram is not None
    if statistics.size <= PILOT_SIZE:
        return Spectrum.of_matrix(packed.unpack(statistics.gram, statistics.size), statistics, share).minimum()
    block = packed.leading_block(statistics.gram, statistics.size, PILOT_SIZE // 2)
    return Spectrum.of_matrix(block, statistics, share).minimum()
