"""What tells known from unknown: mean and covariance of every class, added up as exactly as the Gram matrix.

They are of the features themselves, not of their projection, and of the last CLS and the two before it: d × d numbers
for each. Forgotten labels stay, as samples of a class that is not known; so the covariance within classes stays too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.heads.familiarity import FEW, KEPT, LEAST, Coefficients, Familiarity
from foro.heads.ridge import packed
from foro.heads.ridge.statistics import Statistics
from foro.types import Arrays, Float64, Label
from foro.util.newton import minimum

TOKENS = 3
WIDEST = 1024
"""Features of a token at most: of more, the last ones."""

SHRINKAGE = 0.35
"""Least share of a multiple of I in a covariance; more where there are fewer samples than features."""

TYPICAL_DEVIATION = 0.3
"""Least deviation of the logarithms of distances to the only class: those of few samples may all be alike."""

PRIOR_WEIGHT, PRIOR_SAMPLES = 1.0, 5.0
"""Score and distance, at unit deviation, count about the same; this holds as much as so many samples."""

STUDENT = (
    6.3137515,
    2.9199856,
    2.3533634,
    2.1318468,
    2.0150484,
    1.9431803,
    1.8945786,
    1.859548,
    1.8331129,
    1.8124611,
    1.7958848,
    1.7822876,
    1.7709334,
    1.7613101,
    1.7530504,
    1.7458837,
    1.7396067,
)
"""Quantiles at 0.95 (``KEPT``) of Student's t with 1 to 17 degrees of freedom: with more samples, none is needed."""

LEAST_LEFT = 1e-3
"""Of what remains of a direction when a sample is left out, so that nothing is divided by zero."""
SINGULAR = 1e-9


class Moments:
    """Second moments, class sums and counts of a few tokens of the features."""

    def __init__(self, features: int, parts: int) -> None:
        whole = features // parts
        width, tokens = min(whole, WIDEST), min(parts, TOKENS)
        self.first = whole - width if parts == 1 else 0
        self.labels: list[Label] = []
        self.tokens = [Statistics(width) for _ in range(tokens if width == whole else 1)]

    @property
    def width(self) -> int:
        """Features of one token."""
        return self.tokens[0].size

    def add(self, features: Float64, labels: list[Label]) -> None:
        """Adds samples (n, d) with their labels."""
        classes = self._reserved(labels, len(labels))
        for token, rows in zip(self.tokens, self._cut(features), strict=True):
            token.add(iter([rows]), classes)

    def subtract(self, features: Float64, labels: list[Label]) -> None:
        """Takes samples out again that were added."""
        classes = np.array([self.labels.index(label) for label in labels])
        for token, rows in zip(self.tokens, self._cut(features), strict=True):
            found = [] if token.gram is not None else token.find(rows, classes)
            if token.gram is not None or None in found:  # whether they were ever learned is checked by the classifier
                token.subtract(iter([rows]), classes)
            else:
                token.remove([row for row in found if row is not None], classes)
        for number in np.flatnonzero(self.tokens[0].counts == 0)[::-1]:
            del self.labels[number]
            for token in self.tokens:
                token.drop(number)

    def merge(self, other: Moments, names: Mapping[Label, Label]) -> None:
        """Adds all samples of another; ``names`` has the labels of these here."""
        numbers = self._reserved([names.get(label, label) for label in other.labels], other.tokens[0].samples)
        for mine, theirs in zip(self.tokens, other.tokens, strict=True):
            mine.merge(theirs, numbers)

    def familiarity(self, labels: list[Label], coefficients: Coefficients | None) -> Familiarity | None:
        """What the moments say of samples, for the labels that are known; None where they say nothing yet."""
        shapes = self._shapes(labels)
        if coefficients is None or shapes is None:
            return None
        alone = len(labels) < FEW
        quadratic = [each.within if alone else each.within - each.overall for each in shapes]
        linear = [2 * each.within @ each.means.T for each in shapes]
        offsets = -sum(np.einsum("cv,vw,cw->c", each.means, each.within, each.means) for each in shapes)
        return Familiarity(
            self.first,
            np.stack([each.centre for each in shapes]).astype(np.float32),
            np.stack(quadratic).astype(np.float32),
            np.stack(linear).astype(np.float32),
            np.asarray(offsets, dtype=np.float32),
            coefficients,
        )

    def fit(
        self,
        features: Float64,
        classes: NDArray[np.int64],
        copies: Float64,
        labels: list[Label],
        known: Float64,
        unknown: Float64,
    ) -> Coefficients | None:
        """Fits the chance of being unknown on samples (n, d) of the classes (n,) among ``labels``.

        Each is left out with its ``copies`` (n, c): once alone, when its best score is ``known`` (n,), and once with
        its whole class, when that is ``unknown`` (n,).
        """
        shapes = self._shapes(labels)
        if not len(features) or shapes is None:
            return None
        parts = zip(shapes, self._cut(features), strict=True)
        pieces = [each.left_out(rows, classes, copies, self.width) for each, rows in parts]
        # The nearest class is the same one for all tokens.
        alone, others, around, around_class = (np.sum([each[part] for each in pieces], axis=0) for part in range(4))
        if len(labels) < FEW:
            logs = np.log(np.maximum(alone.min(axis=1), LEAST))
            deviation = max(float(logs.std()), TYPICAL_DEVIATION)
            slope = 1.5 / deviation
            even = Coefficients(0.0, slope, -slope * (float(logs.mean()) + deviation))
            return _keeping(even, np.stack([known, logs], axis=1))
        samples = np.concatenate(
            [
                np.stack([known, alone.min(axis=1) - around], axis=1),
                np.stack([unknown, others.min(axis=1) - around_class], axis=1),
            ]
        )
        return _keeping(_logistic(samples, np.repeat([0.0, 1.0], len(features))), samples[: len(features)])

    def rename(self, label: Label, to: Label) -> None:
        """Calls a label something else; where that is known too, both are one."""
        number = self.labels.index(label)
        if to in self.labels:
            number, other = sorted((number, self.labels.index(to)))
            for token in self.tokens:
                token.join(number, other)
            del self.labels[other]
        self.labels[number] = to

    def distances(self, features: Float64, copies: Float64, labels: list[Label]) -> Float64 | None:
        """Squared distances (n, c) of samples (n, d) to each of the labels, for each dimension; None: not known yet.

        Each sample is left out with its ``copies`` (n, c), of which those of its most frequent class count.
        """
        shapes = self._shapes(labels)
        if shapes is None:
            return None
        classes = copies.argmax(axis=1)
        mine = np.minimum(copies.max(axis=1), shapes[0].counts[classes] - 1)  # something must be left of a class
        parts = zip(shapes, self._cut(features), strict=True)
        return np.asarray(sum(each.toward(rows, classes, mine) for each, rows in parts) / self.width)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready settings."""
        arrays = {
            f"{number}.{name}": array
            for number, token in enumerate(self.tokens)
            for name, array in token.state(self.width).items()
        }
        return arrays, {"labels": self.labels, "samples": self.tokens[0].samples}

    def restore(self, arrays: Arrays, settings: dict[str, Any], labels: list[Label]) -> None:
        """Takes over what ``state`` gave, for these labels in any order; what does not fit is a ValueError."""
        if sorted(map(str, settings["labels"])) != sorted({str(label) for label in labels}):
            raise ValueError("the moments of the features are of other labels")
        self.labels, width = list(settings["labels"]), self.width
        for number in range(len(self.tokens)):
            prefix = f"{number}."
            parts = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
            self.tokens[number] = Statistics.from_state(parts, width, width, len(self.labels), settings["samples"])

    def _cut(self, features: Float64) -> list[Float64]:
        starts = range(self.first, self.first + self.width * len(self.tokens), self.width)
        return [np.ascontiguousarray(features[:, start : start + self.width]) for start in starts]

    def _reserved(self, labels: Iterable[Label], rows: int) -> NDArray[np.int64]:
        """The numbers of labels, new ones too."""
        known = {label: number for number, label in enumerate(self.labels)}
        numbers = [known.setdefault(label, len(known)) for label in labels]
        self.labels = list(known)
        for token in self.tokens:
            token.reserve(len(known), rows)
        return np.array(numbers, dtype=np.int64)

    def _shapes(self, labels: list[Label]) -> list[_Shape] | None:
        """Mean and covariances of each token; None where no class has two different samples."""
        numbers = [self.labels.index(label) for label in labels]
        shapes = [_Shape.of(token, numbers) for token in self.tokens]
        return None if any(each is None for each in shapes) else [each for each in shapes if each is not None]


@dataclass(frozen=True, eq=False)
class _Shape:
    """One token: overall mean (v,), class means (c, v) beside it, counts (c,) and inverse covariances (v, v)."""

    centre: Float64
    means: Float64
    counts: Float64
    within: Float64
    overall: Float64
    per_within: float  # what one sample adds to a covariance
    per_overall: float
    samples: int

    @classmethod
    def of(cls, token: Statistics, numbers: list[int]) -> _Shape | None:
        samples, width = token.samples, token.size
        counts = token.counts.astype(np.float64)
        if samples <= len(counts):
            return None
        moment = token.tail.T @ token.tail
        if token.gram is not None:
            moment = moment + packed.unpack(token.gram, width)
        means = token.cross.T / counts[:, None]
        centre = token.cross.sum(axis=1) / samples
        inside = moment - (means * counts[:, None]).T @ means
        if np.trace(inside) <= np.trace(moment) * LEAST:
            return None
        overall = moment - samples * np.outer(centre, centre)
        share = max(SHRINKAGE, width / (samples + width))
        degrees = samples - len(counts), samples - 1
        return cls(
            centre=centre,
            means=means[numbers] - centre,
            counts=counts[numbers],
            within=_inverse(inside / degrees[0], share),
            overall=_inverse(overall / degrees[1], share),
            per_within=(1 - share) / degrees[0],
            per_overall=(1 - share) / degrees[1],
            samples=samples,
        )

    def toward(self, rows: Float64, classes: NDArray[np.int64], mine: Float64) -> Float64:
        """Squared distances (n, c) to each class without samples (n, v), each ``mine`` (n,) times in one of them."""
        number, own, y = np.arange(len(rows)), self.counts[classes], rows - self.centre
        r = y - self.means[classes]
        left = own / (own - mine)
        seen = r @ self.within
        along = (seen * y).sum(axis=1)[:, None] - seen @ self.means.T
        squares = ((y @ self.within) * y).sum(axis=1)[:, None] - 2 * (y @ self.within) @ self.means.T
        squares += ((self.means @ self.within) * self.means).sum(axis=1)
        weight = self.per_within * left * mine
        squares += (weight / np.maximum(1 - weight * (seen * r).sum(axis=1), LEAST_LEFT))[:, None] * along**2
        squares[number, classes] *= left**2
        return np.asarray(squares)

    def left_out(
        self, rows: Float64, classes: NDArray[np.int64], copies: Float64, width: int
    ) -> tuple[Float64, Float64, Float64, Float64]:
        """Squared distances of samples (n, v) that are left out, in closed form, for each dimension.

        To each class (n, c) without the sample, the same without its class, and to the overall mean (n,) without the
        sample and without its class. Of the covariance of a class, what its other samples add to it stays.
        """
        number, own = np.arange(len(rows)), self.counts[classes]
        y, mean = rows - self.centre, self.means[classes]
        r = y - mean
        mine, all_copies = copies[number, classes], copies.sum(axis=1)
        left = own / (own - mine)
        alone = self.toward(rows, classes, mine)
        others = alone.copy()
        others[number, classes] = np.inf
        n = self.samples
        more = n / (n - all_copies)
        around = self._without([y], [all_copies * more], y * more[:, None])
        rest = np.maximum(n - own, 1)
        around_class = self._without([mean, r], [own * n / rest, left * mine], y + mean * (own / rest)[:, None])
        return alone / width, others / width, around / width, around_class / width

    def _without(self, directions: list[Float64], weights: list[Float64], y: Float64) -> Float64:
        """yᵀ(Σ − Σᵢ wᵢuᵢuᵢᵀ)⁻¹y (n,) of y (n, v) for directions uᵢ (n, v) that are taken out of the covariance."""
        u = np.stack(directions, axis=1) * np.sqrt(self.per_overall * np.stack(weights, axis=1))[:, :, None]
        seen = (u.reshape(-1, u.shape[2]) @ self.overall).reshape(u.shape)  # one product, not one for each sample
        values, vectors = np.linalg.eigh(np.einsum("niv,njv->nij", seen, u))
        along = np.einsum("nij,ni->nj", vectors, np.einsum("niv,nv->ni", seen, y))
        gained = (along**2 / np.maximum(1 - values, LEAST_LEFT)).sum(axis=1)
        return np.asarray(((y @ self.overall) * y).sum(axis=1) + gained)


def class_left_out_scores(
    scores: Float64, classes: NDArray[np.int64], leverages: Float64, counts: Float64, of_means: Float64
) -> Float64:
    """Scores (n, c) of samples without their whole class, from those with it; of that class −∞.

    What a class adds to G is its mean, as often as it has samples, and how its samples differ from it: the first and
    the sample's own difference are taken out. Nothing has to be solved: A⁻¹Cᵧ is a column of W, and ``of_means``
    (c, c) has the scores of the class means, C'W over the counts.
    """
    number, own, mean = np.arange(len(classes)), counts[classes], of_means[classes]
    to_mean, within_mean = scores[number, classes] / own, mean[number, classes] / own  # hᵀA⁻¹m, mᵀA⁻¹m
    first, mixed = 1 / own - within_mean, within_mean - to_mean
    second = (own - 1) / own - (leverages - 2 * to_mean + within_mean)
    determinant = np.maximum(first * second - mixed**2, SINGULAR / own)
    difference = leverages - to_mean
    by_mean = (second * to_mean - mixed * difference) / determinant
    by_difference = (first * difference - mixed * to_mean) / determinant
    left = scores + by_mean[:, None] * mean + by_difference[:, None] * (scores - mean)
    left[number, classes] = -np.inf
    return np.asarray(left)


def _inverse(covariance: Float64, share: float) -> Float64:
    size = len(covariance)
    level = float(np.trace(covariance)) / size
    return np.asarray(np.linalg.inv((1 - share) * covariance + share * level * np.eye(size)))


def _logistic(samples: Float64, unknown: Float64) -> Coefficients:
    """Coefficients for samples (n, 2), best score and distance, of which some are unknown (n,)."""
    centre, deviation = samples.mean(axis=0), np.maximum(samples.std(axis=0), LEAST)
    rows = np.concatenate([(samples - centre) / deviation, np.ones((len(samples), 1))], axis=1)
    prior = np.array([-PRIOR_WEIGHT, PRIOR_WEIGHT, 0.0])
    hold = np.array([1.0, 1.0, 0.0]) * PRIOR_SAMPLES

    def loss(weights: Float64) -> float:
        odds = rows @ weights
        value = np.logaddexp(0, odds).sum() - unknown @ odds + (hold * (weights - prior) ** 2).sum() / 2
        return float(value)

    def derivatives(weights: Float64) -> tuple[Float64, Float64]:
        chance = 1 / (1 + np.exp(-(rows @ weights)))
        gradient = rows.T @ (chance - unknown) + hold * (weights - prior)
        return gradient, (rows.T * (chance * (1 - chance))) @ rows + np.diag(hold)

    found = minimum(loss, derivatives, prior)
    score, distance = found[:2] / deviation
    return Coefficients(float(score), float(distance), float(found[2] - centre @ (found[:2] / deviation)))


def _keeping(even: Coefficients, known: Float64) -> Coefficients:
    """Coefficients that keep most known samples, from those for as many unknown samples as known ones.

    A chance needs a share of unknown samples to assume: as many as known ones, or fewer, until no more than 5 % of new
    samples of known classes have a chance of one half. These are like the ``known`` samples (n, 2), which were left
    out one at a time: the next is above the k-th of n with a chance of 1 − k / (n + 1).
    """
    odds = known @ np.array([even.score, even.distance]) + even.constant
    rank = int(np.ceil(KEPT * (len(odds) + 1)))
    if rank <= len(odds):
        level = float(np.sort(odds)[rank - 1])
    else:  # too few for that: as if the odds were normal
        quantile = STUDENT[max(len(odds) - 1, 1) - 1]
        level = float(odds.mean() + quantile * odds.std() * np.sqrt(1 + 1 / len(odds)))
    return Coefficients(even.score, even.distance, even.constant - max(level, 0.0))
