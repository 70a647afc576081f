"""Turns statistics into a classifier: W = (G + γI)⁻¹ C, exactly, at the lowest cost for the case at hand.

* Few samples, or a small matrix: eigenvalues, which give every γ at once.
* Otherwise a Cholesky factor of the packed matrix, kept for as long as new samples fit into the tail: those enter by
  Woodbury's identity on the last factor, the paper's recursive rule without ever forming an inverse.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from foro.errors import InputError
from foro.heads.ridge import cholesky, packed
from foro.heads.ridge.gcv import (
    NOT_POSITIVE,
    PILOT_SIZE,
    SPECTRAL_SIZE,
    Spectrum,
    extrapolated,
    grid,
    grid_value,
    halves,
    pilot,
)
from foro.heads.ridge.judged import Leverages
from foro.heads.ridge.statistics import Statistics
from foro.types import Arrays, Float64
from foro.util import large_arrays
from foro.util.threads import one_blas_thread

WORTH_STORING = 4096
"""Features from which on a factor takes longer to compute than to write and read."""
MOST_FACTORISATIONS = 4
PROBES, PROBED = 32, 2**18
"""Probes for a trace, and how many numbers they have at least: of fewer features, more are needed."""
FAR, NEAR = 4, 1
"""Steps of the grid that a search may end from its guess. One that halves of the features agree on is near: of fewer
samples than features, the error of the probes can look like a slope that leads a hundred times away."""
WORTH = 0.005
"""Part of GCV that one more factorisation must promise to save."""
ROUNDING = 1e-12
PROBE_ERROR = 1e-3


@dataclass
class _Base:
    """What holds for the packed matrix alone, without the tail."""

    version: int
    regularisation: float
    factor: Float64
    weights: Float64  # A₀⁻¹ C₀
    solved_tail: Float64 = field(default_factory=lambda: np.zeros((0, 0)))  # (A₀⁻¹ Xᵀ)ᵀ of the first tail rows X
    leverages: dict[int, float] = field(default_factory=dict)  # hᵀA₀⁻¹h of samples h by their hash
    new: bool = True  # computed here, not read


class Solver:
    """``regularisation`` is γ, or None to choose it by generalised cross-validation.

    ``distinct`` says then which share of the samples is left where copies of an image count as one; None: all.
    """

    stored: Callable[[], Arrays] | None = None
    """Reads what ``new_factor`` gave at another time, maybe of other statistics; {}: nothing."""

    def __init__(
        self,
        statistics: Statistics,
        regularisation: float | None,
        seed: int,
        distinct: Callable[[], float] | None = None,
    ) -> None:
        self._distinct = distinct
        self._statistics = statistics
        self._regularisation = regularisation
        self._seed = seed
        self._base: _Base | None = None
        self._spectrum: tuple[int, Float64, Spectrum] | None = None  # with the version and the tail it is of
        self._buffer: Float64 | None = None
        self._kept: tuple[int, float] | None = None
        self.spectral_limit = SPECTRAL_SIZE
        self.factorisations = 0

    @one_blas_thread
    def solve(self) -> tuple[Float64, float]:
        """Classifier W (M, c) and the γ that it was solved with."""
        self._spectrum = None
        if self._is_spectral():
            spectrum = self._current_spectrum(self._share())
            gamma = grid_value(spectrum.best_index()) if self._regularisation is None else self._regularisation
            return spectrum.weights(gamma), gamma
        base = self._current_base()
        return self._with_tail(base), base.regularisation

    def view(
        self, weights: Float64, regularisation: float, project: Callable[[Float64], Float64]
    ) -> tuple[Callable[[Float64], Float64], Float64, Leverages]:
        """``project``, W and leverages, for the γ and W that ``solve`` gave.

        Where the eigenvectors of G are known, all is along these: of few samples, as many numbers as samples, not M.
        """
        if not self._is_spectral():
            return project, weights, self._leverages
        statistics, spectrum = self._statistics, self._current_spectrum()
        made_of = None if spectrum.basis is None else statistics.tail_features
        places = {} if made_of is None else {row.tobytes(): number for number, row in enumerate(made_of)}

        def along(features: Float64) -> Float64:
            found = [places.get(row.tobytes()) for row in features]
            known = [place for place in found if place is not None]
            if len(known) == len(found):
                return spectrum.along_basis(known)
            return spectrum.along(project(features))

        return along, spectrum.along_weights(regularisation), lambda rows, _: spectrum.leverages(rows, regularisation)

    @one_blas_thread
    def _leverages(self, rows: Float64, hashes: list[int]) -> Float64:
        """hᵀ(G + γI)⁻¹h (n,) of samples h (n, M) that are in G, through the factor."""
        statistics, base = self._statistics, self._current_base()
        new = [number for number, each in enumerate(hashes) if each not in base.leverages]
        if new:
            found = cholesky.squared_norms(base.factor, statistics.size, rows[new])
            base.leverages.update(zip((hashes[number] for number in new), found.tolist(), strict=True))
        leverages = np.array([base.leverages[each] for each in hashes])
        if len(statistics.tail):
            self._solve_tail(base)
            along = rows @ base.solved_tail.T
            leverages -= (along * np.linalg.solve(self._inner(base), along.T).T).sum(axis=1)
        return leverages

    def keep(self, regularisation: float) -> None:
        """Goes on with the γ that was chosen for the packed matrix as it is, before it was stored and read again."""
        self._kept = self._statistics.gram_version, regularisation

    def new_factor(self) -> Arrays | None:
        """What to store of a factor that was computed here, so that another process need not; None: nothing new."""
        base, statistics = self._base, self._statistics
        if base is None or not base.new or base.version != statistics.gram_version or statistics.size < WORTH_STORING:
            return None
        hashes = b"".join(each.to_bytes(16, "little") for each in base.leverages)
        arrays = {"factor": base.factor, "leverages": np.array([*base.leverages.values()])}
        arrays["hashes"] = np.frombuffer(hashes, dtype=np.uint8)
        return {**arrays, "digests": np.array([*self._of_what(base.regularisation), _digest(arrays)])}

    def _stored_base(self, gamma: float) -> _Base | None:
        """The factor that was stored for this packed matrix and γ, if it was."""
        statistics, arrays = self._statistics, {} if self.stored is None else self.stored()
        digests = arrays.pop("digests", np.zeros(0))
        if digests.tolist() != [*self._of_what(gamma), _digest(arrays)]:
            return None
        hashes = arrays["hashes"].reshape(-1, 16)
        numbers = [int.from_bytes(each.tobytes(), "little") for each in hashes]
        leverages = dict(zip(numbers, arrays["leverages"].tolist(), strict=True))
        weights = cholesky.solve(arrays["factor"], statistics.size, self._settled_cross())
        return _Base(statistics.gram_version, gamma, arrays["factor"], weights, leverages=leverages, new=False)

    def _of_what(self, gamma: float) -> tuple[float, float, float]:
        """What a factor belongs to: the packed matrix, by its CRC-32, γ, and how this version lays factors out."""
        assert self._statistics.gram is not None
        return _digest({"gram": self._statistics.gram}), gamma, cholesky.LAYOUT

    def drop(self, number: int) -> None:
        """Forgets a class: the columns of W do not depend on each other."""
        self._spectrum = None
        if self._base is not None and number < self._base.weights.shape[1]:
            self._base.weights = np.delete(self._base.weights, number, axis=1)

    def reset(self) -> None:
        """Starts anew: C has changed other than by rows of the tail."""
        self._base = self._kept = self._spectrum = None

    def _is_spectral(self) -> bool:
        """Whether eigenvalues are the cheaper way."""
        statistics = self._statistics
        return statistics.gram is None or (self._regularisation is None and statistics.size <= self.spectral_limit)

    def _share(self) -> float:
        """The share of distinct samples, where γ is to be chosen by it."""
        return 1.0 if self._regularisation is not None or self._distinct is None else self._distinct()

    def _current_spectrum(self, share: float = 1.0) -> Spectrum:
        """The eigenvalues of G; those of the last ``solve`` where nothing has changed since."""
        statistics = self._statistics
        if self._spectrum is not None:
            version, tail, spectrum = self._spectrum
            if version == statistics.gram_version and tail is statistics.tail:
                return spectrum
        if statistics.gram is None:
            spectrum = Spectrum.of_rows(statistics.tail, statistics, share)
        else:
            statistics.settle()
            spectrum = Spectrum.of_matrix(packed.unpack(statistics.gram, statistics.size), statistics, share)
        self._spectrum = statistics.gram_version, statistics.tail, spectrum
        return spectrum

    def _current_base(self) -> _Base:
        """The factor of the packed matrix."""
        statistics, gamma = self._statistics, self._regularisation
        if self._base is None or self._base.version != statistics.gram_version:
            self._base = None  # its factor is about to be overwritten
            if self._kept is not None and self._kept[0] == statistics.gram_version:
                self._base = self._stored_base(self._kept[1]) or self._factorise(self._kept[1])
            else:
                statistics.settle()
                self._base = self._choose() if gamma is None else self._factorise(gamma)
        return self._base

    def _factorise(self, gamma: float) -> _Base:
        statistics = self._statistics
        assert statistics.gram is not None
        if self._buffer is None:
            self._buffer = cholesky.empty(statistics.size)
        if not cholesky.factorise(statistics.gram, statistics.size, gamma, self._buffer):
            raise InputError(NOT_POSITIVE)
        self.factorisations += 1
        weights = cholesky.solve(self._buffer, statistics.size, self._settled_cross())
        return _Base(statistics.gram_version, gamma, self._buffer, weights)

    def _settled_cross(self) -> Float64:
        """C (M, c) without the tail."""
        statistics = self._statistics
        if not len(statistics.tail):
            return statistics.cross
        return np.asarray(statistics.cross - statistics.tail.T @ statistics.tail_targets())

    def _choose(self) -> _Base:
        """The factor for the best γ of the grid."""
        share = self._share()
        return self._search(*self._guess(share), share)[0]

    def _guess(self, share: float) -> tuple[float, int]:
        """Where on the grid the best γ should be, from searches in halves of the features, and how far off it may be.

        The half costs an eighth of a factorisation, and all the others together less than a fiftieth.
        """
        places: list[float] = []
        for half in halves(self._statistics):
            large = half.size > PILOT_SIZE
            place = extrapolated(places) if large and places else pilot(half, share)
            if large:
                trial = Solver(half, None, self._seed)
                trial._buffer = None if self._buffer is None else self._buffer[: cholesky.room(half.size)]
                place = trial._search(place, _reach(places), share)[1]
            places.append(place)
        return extrapolated(places) if places else pilot(self._statistics, share), _reach(places)

    def _search(self, guess: float, reach: int, share: float) -> tuple[_Base, float]:
        """Newton's steps to the lowest log GCV over the grid, from a guess and not beyond its reach.

        Returns the factor at the best index, or at one that is as good but for what is not worth a factorisation, and
        where the minimum is beside it.
        """
        index, trace, samples = round(guess), self._statistics.trace, self._statistics.samples
        indices = grid(trace, samples) if trace > 0 else range(index, index + 1)
        index = min(max(index, indices[0]), indices[-1])
        lowest, highest = max(index - reach, indices[0]), min(index + reach, indices[-1])
        for _ in range(MOST_FACTORISATIONS):
            base = self._factorise(grid_value(index))
            slope, curvature = self._slope(base, share)
            # Where GCV is not convex, walk downhill; a decade a step is the most in any case.
            step = -slope / curvature if curvature > 0 else -np.sign(slope) * FAR
            place = float(np.clip(index + np.clip(step, -FAR, FAR), lowest, highest))
            ahead = round(place) - index
            if -ahead * (slope + ahead * curvature / 2) < WORTH:
                break
            index += ahead
        return base, place

    def _slope(self, base: _Base, share: float = 1.0) -> tuple[float, float]:
        """First and second derivative of log GCV per grid step at the base's γ, for a share of distinct samples.

        Traces are Hutchinson's estimates.
        """
        statistics, gamma, size = self._statistics, base.regularisation, self._statistics.size
        probes = _probes(size, self._seed)
        count = int(probes.shape[1])
        solved = cholesky.solve(base.factor, size, probes)
        once = float((probes * solved).sum()) / count  # tr(A⁻¹)
        twice = float((solved**2).sum()) / count  # tr(A⁻²)
        thrice = float(cholesky.squared_norms(base.factor, size, solved.T).sum()) / count  # tr(A⁻³)
        solved_weights = cholesky.solve(base.factor, size, base.weights)
        along = float((base.weights * solved_weights).sum())
        targets_norm = float(statistics.counts.sum())  # ‖Y‖²
        fitted = float((base.weights * statistics.cross).sum()) + gamma * float((base.weights**2).sum())
        residual = max(targets_norm - fitted, ROUNDING * targets_norm)  # ‖Y − HW‖²
        residual_slope, residual_bend = 2 * gamma * along, 2 * along - 6 * gamma * float((solved_weights**2).sum())
        freedom = max(share * statistics.samples - size + gamma * once, PROBE_ERROR * statistics.samples)  # n − dof
        freedom_slope, freedom_bend = once - gamma * twice, 2 * (gamma * thrice - twice)
        slope = residual_slope / residual - 2 * freedom_slope / freedom
        bend = residual_bend / residual - (residual_slope / residual) ** 2
        bend -= 2 * (freedom_bend / freedom - (freedom_slope / freedom) ** 2)
        step = float(np.log(grid_value(1)))
        return gamma * slope * step, (gamma**2 * bend + gamma * slope) * step**2

    def _with_tail(self, base: _Base) -> Float64:
        """W + U (I + XU)⁻¹ (Y − XW) with U = A₀⁻¹Xᵀ for the rows X of the tail."""
        statistics = self._statistics
        rows, targets = statistics.tail, statistics.tail_targets()
        weights = base.weights
        new_classes = len(statistics.counts) - weights.shape[1]
        if new_classes:
            weights = np.concatenate([weights, np.zeros((statistics.size, new_classes))], axis=1)
        if not len(rows):
            return weights
        self._solve_tail(base)
        return np.asarray(weights + base.solved_tail.T @ np.linalg.solve(self._inner(base), targets - rows @ weights))

    def _solve_tail(self, base: _Base) -> None:
        rows, done = self._statistics.tail, len(base.solved_tail)
        if done < len(rows):
            new = cholesky.solve(base.factor, self._statistics.size, rows[done:].T).T
            base.solved_tail = np.concatenate([base.solved_tail, new]) if done else new

    def _inner(self, base: _Base) -> Float64:
        """I + XU."""
        rows = self._statistics.tail
        return np.asarray(np.eye(len(rows)) + rows @ base.solved_tail.T)


def _reach(places: list[float]) -> int:
    """How far the best γ may be from what is extrapolated from these."""
    return NEAR if len(places) > 1 else FAR


def _digest(arrays: Arrays) -> float:
    """CRC-32 of arrays, in the order of their names."""
    digest = 0
    for name in sorted(arrays):
        for (part,) in large_arrays.parts(arrays[name]):
            digest = zlib.crc32(part.view(np.uint8).data, digest)
    return float(digest)


def _probes(size: int, seed: int) -> Float64:
    """Random signs (M, probes), the same for every choice: equal statistics must choose the same γ."""
    count = max(PROBES, PROBED // size)
    return np.asarray(np.random.default_rng(seed).choice([-1.0, 1.0], size=(count, size)).T)
