"""The knowledge encoder: a closed-form classifier that absorbs samples forever and never forgets one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foro.config import LearnerConfig, Regularisation, check_regularisation
from foro.errors import InputError, NeverLearnedError
from foro.heads.copies import find_copies
from foro.heads.familiarity import FEW, Coefficients, Familiarity
from foro.heads.head import BLOCK, Estimate, Head, LeftOut
from foro.heads.projection import Block, RandomProjection
from foro.heads.ridge.confidence import Confidence
from foro.heads.ridge.encoder_state import encoder_state, read_encoder
from foro.heads.ridge.forgotten import Forgotten
from foro.heads.ridge.gcv import NOT_POSITIVE
from foro.heads.ridge.judged import Judged, Seen
from foro.heads.ridge.moments import Moments, class_left_out_scores
from foro.heads.ridge.reservoir import Reservoir, sample_hashes
from foro.heads.ridge.solver import Solver
from foro.heads.ridge.statistics import Classes, Statistics
from foro.labels import listed
from foro.types import Arrays, Float64, Label
from foro.util.interrupts import uninterrupted
from foro.util.threads import one_blas_thread


class KnowledgeEncoder(Head):
    """Ridge classifier over randomly projected features, updated exactly from sufficient statistics.

    After any sequence of calls it is the ridge classifier of all samples at once for ``regularisation_used``. With
    ``"auto"`` that γ is chosen anew from everything learned, except that up to 256 streamed samples keep the last one.

    Parameters
    ----------
    features
        Width d of the feature vectors.
    projection_dim
        M, the width of the random projection; None uses the features as they are.
    regularisation
        γ, or ``"auto"`` to choose it by generalised cross-validation over everything learned so far.
    activation
        φ of the projection: ``relu``, ``gelu`` or ``tanh``.
    seed
        Of the projection and of the probes of the cross-validation.
    blocks
        Which part of the features each block of the projection's columns sees; see ``RandomProjection``.

    Examples
    --------
    >>> encoder = KnowledgeEncoder(features=2, projection_dim=64)
    >>> encoder.absorb([[0, 1], [0, 2], [1, 0], [2, 0]], ["up", "up", "right", "right"])
    >>> encoder.predict([[0, 3], [3, 0]])
    ['up', 'right']
    >>> encoder.absorb([[-1, 0], [-2, 0]], ["left", "left"])
    >>> encoder.predict([[0, 3], [3, 0], [-3, 0]])
    ['up', 'right', 'left']
    """

    def __init__(
        self,
        features: int,
        projection_dim: int | None = 8192,
        regularisation: Regularisation = "auto",
        activation: str = "relu",
        seed: int = 0,
        blocks: Sequence[Block] = (),
    ) -> None:
        if features < 1:
            raise InputError(f"features must be at least 1, not {features}")
        projection = None
        if projection_dim is not None:
            projection = RandomProjection.draw(features, projection_dim, activation, seed, blocks)
        self._assemble(features, projection, regularisation, seed, Statistics(projection_dim or features))

    @classmethod
    def build(cls, features: int, blocks: Sequence[Block], config: LearnerConfig, seed: int) -> KnowledgeEncoder:
        """A head for features of width d, with the settings of a learner."""
        return cls(features, config.projection_dim, config.regularisation, config.activation, seed, blocks)

    def _assemble(
        self,
        features: int,
        projection: RandomProjection | None,
        regularisation: Regularisation,
        seed: int,
        statistics: Statistics,
    ) -> None:
        self.features = features
        self.projection = projection
        self.seed = seed
        self._labels: list[Label] = []
        self._statistics = statistics
        self.regularise(regularisation)
        self._reservoir = Reservoir(features)
        self._moments = Moments(features, projection.parts if projection else 1)
        self._forgotten: dict[Label, Forgotten] = {}

    def regularise(self, regularisation: Regularisation) -> None:
        """Solves with another γ from now on; the statistics do not contain it."""
        self.regularisation = check_regularisation(regularisation)
        gamma = None if self.regularisation == "auto" else float(self.regularisation)
        self.solver = Solver(self._statistics, gamma, self.seed, self._distinct)
        self._solution: tuple[Float64, float] | None = None
        self._confidence: Confidence | None = None
        self._coefficients: Coefficients | None = None

    @property
    def labels(self) -> list[Label]:
        """Every label that can be predicted, in the order in which they were first seen."""
        return list(self._labels)

    @property
    def counts(self) -> dict[Label, int]:
        """How many samples of each label were absorbed."""
        return dict(zip(self._labels, self._statistics.counts.tolist(), strict=True))

    @property
    def means(self) -> Float64:
        """Mean projected features (c, M) of the samples of each of ``labels``."""
        means: Float64 = self._statistics.cross.T / self._statistics.counts[:, None]
        return means

    @property
    def samples(self) -> int:
        """How many samples the statistics hold."""
        return self._statistics.samples

    @property
    def projection_dim(self) -> int:
        """M: the width of the features that the classifier sees."""
        return self._statistics.size

    @property
    def regularisation_used(self) -> float:
        """The γ of the present classifier; solves for it if needed."""
        return self._solve()[1]

    @property
    def weights(self) -> Float64:
        """The present classifier W (M, c), a read-only view; solves for it if needed."""
        view: Float64 = self._solve()[0].view()
        view.flags.writeable = False
        return view

    def absorb(self, X: ArrayLike, labels: Sequence[Label] | NDArray[Any]) -> None:
        """Learns samples X (n, d) with their labels; new labels may come at any time, and old ones again."""
        features, names = self.checked(X, labels)
        known = {label: number for number, label in enumerate(self._labels)}
        for name in names:
            known.setdefault(name, len(known))
        classes = np.array([known[name] for name in names])
        with uninterrupted():
            self._statistics.reserve(len(known), len(names))
            # The packed matrix is gone through once for each block, which costs more the smaller these are.
            blocks = self.blocks(features, BLOCK if self._statistics.gram is None else 2 * BLOCK)
            self._solution, self._confidence, self._labels = None, None, list(known)
            self._statistics.add(blocks, classes, features)
            self._reservoir.add(features, names)
            self._moments.add(features, names)

    def take_back(self, features: Float64, labels: list[Label]) -> None:
        """Unlearns samples (n, d): the classifier is as if they had never been seen."""
        classes = np.array([self._labels.index(label) for label in labels])
        statistics, solution = self._statistics, self._solution
        if statistics.gram is None:
            rows = statistics.find(features, classes)
            if None in rows:
                raise NeverLearnedError([position for position, row in enumerate(rows) if row is None])
            statistics.remove([row for row in rows if row is not None], classes)
            self._solution = None
        else:
            statistics.subtract(self.blocks(features), classes)
            self._solution = None
            try:
                self._solve() if self.samples else None
            except InputError:
                statistics.add(self.blocks(features), classes)
                self._solution = solution
                raise NeverLearnedError(statistics.impossible(self.blocks(features))) from None
        self._confidence, share = None, self._distinct()
        self._reservoir.remove(features, labels)
        if self._distinct() != share:  # by which γ is chosen
            self._solution = None
        self._moments.subtract(features, labels)
        if not self.samples:
            self._reservoir = Reservoir(self.features)
        for name, count in self.counts.items():
            if count == 0:
                self._discard(self._labels.index(name))

    def merge(self, other: Head, order: Iterable[Label] | None = None) -> None:
        """Adds everything that ``other`` has learned; new labels come in the order of ``order``, or of ``other``."""
        if difference := self.difference(other):
            raise InputError(f"these heads cannot be merged: their {difference} differ")
        assert isinstance(other, KnowledgeEncoder)
        theirs = [*other._labels, *other._forgotten]
        names = dict(zip(theirs, self.known_as(theirs), strict=True))
        known = {label: number for number, label in enumerate(self._labels)}
        for label in other._labels if order is None else order:
            known.setdefault(names.get(label, label), len(known))
        numbers: Classes = np.array([known[names[label]] for label in other._labels], dtype=np.int64)
        with uninterrupted():
            self._statistics.reserve(len(known), other.samples)
            self._solution, self._confidence, self._labels = None, None, list(known)
            self._statistics.merge(other._statistics, numbers)
            self._reservoir.merge(other._reservoir.renamed(names))
            self._moments.merge(other._moments, names)
            for label, dropped in other._forgotten.items():
                self._put_away(names[label], replace(dropped, reservoir=dropped.reservoir.renamed(names)))

    def difference(self, other: Head) -> str | None:
        """What stops the two from being merged, or None."""
        if not isinstance(other, KnowledgeEncoder):
            return "heads"
        if self.features != other.features:
            return "numbers of features"
        if (self.projection is None) != (other.projection is None):
            return "projections"
        if self.projection and other.projection and not self.projection.same_as(other.projection):
            return "projections"
        return None

    def forget(self, label: Label) -> None:
        """Never predicts the label again; its samples still tell the other labels what they are not."""
        if label not in self._labels:
            raise InputError(f"{label!r} was never learned; known labels: {listed(self._labels)}")
        number = self._labels.index(label)
        column, count = self._statistics.cross[:, number].copy(), int(self._statistics.counts[number])
        with uninterrupted():
            self._put_away(label, Forgotten(column, count, self._discard(number)))

    def restore(self, label: Label) -> None:
        """Takes ``forget`` back: everything is as if the label had never been forgotten, but it comes last."""
        if label not in self._forgotten:
            raise InputError(f"{label!r} was not forgotten; forgotten labels: {listed(self.forgotten)}")
        with uninterrupted():
            if label not in self._labels:
                self._statistics.reserve(len(self._labels) + 1, 0)
                self._labels.append(label)
            dropped = self._forgotten.pop(label)
            self._statistics.restore(self._labels.index(label), dropped.column, dropped.count)
            self._reservoir.merge(dropped.reservoir)
            self.solver.reset()
            self._solution = self._confidence = None

    def rename(self, label: Label, to: Label) -> None:
        """Calls a known label something else; where that is known too, both are one, as if learned so at once."""
        if label not in self._labels:
            raise InputError(f"{label!r} was never learned; known labels: {listed(self._labels)}")
        with uninterrupted():
            number = self._labels.index(label)
            if to in self._labels:
                first, last = sorted((number, self._labels.index(to)))
                self._statistics.join(first, last)
                del self._labels[last]
                number, self._solution, self._confidence = first, None, None
                self.solver.reset()
            self._labels[number] = to
            self._reservoir = self._reservoir.renamed({label: to})
            self._moments.rename(label, to)
            if (dropped := self._forgotten.pop(label, None)) is not None:
                self._put_away(to, replace(dropped, reservoir=dropped.reservoir.renamed({label: to})))

    @property
    def forgotten(self) -> list[Label]:
        """Labels that were forgotten and can be restored."""
        return list(self._forgotten)

    def _put_away(self, label: Label, dropped: Forgotten) -> None:
        earlier = self._forgotten.get(label)
        self._forgotten[label] = dropped if earlier is None else earlier.joined(dropped)

    def _discard(self, number: int) -> Reservoir:
        """Takes a class out for good; returns its samples in the reservoir."""
        if self._solution is not None:
            weights, gamma = self._solution
            self._solution = np.delete(weights, number, axis=1), gamma
        if self._confidence is not None:
            self._confidence = self._confidence.without(number)
            if len(self._labels) <= FEW:
                self._coefficients = None  # too few classes remain to go by the best score
        label = self._labels.pop(number)
        self._statistics.drop(number)
        self.solver.drop(number)
        return self._reservoir.drop(label)

    @property
    def sharpness(self) -> float:
        """Of the softmax that turns scores into probabilities, fitted on samples that were left out one at a time."""
        return self._measured().sharpness

    def estimate(self) -> Estimate:
        """Accuracy to expect, overall and for each label, from up to 512 samples that were left out one at a time.

        Exact for the present γ. A sample that is the only one of its label cannot be judged.
        """
        return self._measured().estimate(self._labels)

    def kept_scores(self) -> tuple[Float64, NDArray[np.int64]]:
        """Leave-one-out scores (n, c) of up to 512 samples, for the present γ, and their classes (n,)."""
        confidence = self._measured()
        return confidence.scores, confidence.classes

    def left_out(self, X: ArrayLike, learned: Sequence[Sequence[Label]]) -> LeftOut:
        """What is known of samples X (n, d) without them and without their copies among them, for the present γ."""
        features, times = self.times(X, learned)
        counts, groups = times.sum(axis=1), find_copies(features)
        targets = times / np.maximum(counts, 1.0)[:, None]
        seen = Seen(features, sample_hashes(features, [""] * len(counts)), counts, targets, groups)
        copies = np.array([times[group].sum(axis=0) for group in groups]).reshape(times.shape)
        scores = self._left_out(seen, range(len(counts)))[1]
        return LeftOut(scores, self._moments.distances(features, copies, self._labels), copies, groups)

    def familiarity(self) -> Familiarity | None:
        """What tells samples of known classes from others, fitted on samples left out with their whole class."""
        self._measured()
        if self._coefficients is None and len(self._labels) < FEW:
            judged = self._judged()
            nothing = np.zeros(len(judged.numbers))
            self._coefficients = self._fit(judged, nothing, nothing)
        return self._moments.familiarity(self._labels, self._coefficients)

    def blank(self, thin_limit: int | None = None) -> KnowledgeEncoder:
        """An encoder with the same projection and settings that has learned nothing.

        Up to ``thin_limit`` samples it needs no M × M matrix; the default suits a long life.
        """
        twin = KnowledgeEncoder.__new__(KnowledgeEncoder)
        statistics = Statistics(self._statistics.size, thin_limit)
        twin._assemble(self.features, self.projection, self.regularisation, self.seed, statistics)
        return twin

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready settings."""
        return encoder_state(self)

    @classmethod
    def from_state(cls, arrays: Arrays, settings: dict[str, Any]) -> KnowledgeEncoder:
        """The encoder whose ``state`` this is; takes over the arrays.

        A part that is not there is a KeyError, one that does not fit the others a ValueError.
        """
        return read_encoder(cls, arrays, settings)

    def _distinct(self) -> float:
        """Share of the samples that is left where copies count as one."""
        return self._reservoir.distinct_share()

    def _solve(self) -> tuple[Float64, float]:
        if not self._labels:
            raise InputError("nothing has been learned yet")
        if self._solution is None:
            solution = self.solver.solve()
            if not np.isfinite(solution[0]).all():
                raise InputError(NOT_POSITIVE)
            self._solution = solution
        return self._solution

    @one_blas_thread
    def _measured(self) -> Confidence:
        """What the samples of the reservoir say of the present classifier."""
        weights, _ = self._solve()
        if self._confidence is None:
            judged = self._judged()
            scores, left, leverages = self._left_out(judged.seen, judged.numbers)
            self._coefficients = None
            if judged.numbers and len(self._labels) >= FEW:
                counts = self._statistics.counts.astype(np.float64)
                means = (self._statistics.cross / counts).T @ weights
                strange = class_left_out_scores(scores, judged.classes, leverages, counts, means)
                self._coefficients = self._fit(judged, left.max(axis=1), strange.max(axis=1))
            self._confidence = Confidence.fit(left, judged.classes)
        return self._confidence

    def _left_out(self, seen: Seen, numbers: Sequence[int]) -> tuple[Float64, Float64, Float64]:
        """Of some samples: scores (n, c) with them, scores (n, c) without each and its copies, leverages (n,)."""
        weights, gamma = self._solve()
        return seen.left_out_scores(numbers, *self.solver.view(weights, gamma, self.project))

    def _judged(self) -> Judged:
        """The samples of the reservoir that can be left out of their class."""
        return Judged.of(self._reservoir, self._labels, self._statistics.counts)

    def _fit(self, judged: Judged, known: Float64, unknown: Float64) -> Coefficients | None:
        features = self._reservoir.features[judged.numbers]
        return self._moments.fit(features, judged.classes, judged.copies, self._labels, known, unknown)
