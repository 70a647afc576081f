"""Which labels are likely wrong: what a model that has not seen an image says of it, against the label it came with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foro.types import Float64
from foro.util.newton import by_differences, minimum

TYPICAL_NOISE, NOISE_WEIGHT = 0.05, 20.0
"""Share of wrong labels that is assumed, with the weight of so many images, before any image is looked at."""

MOST_FITTED = 4096
"""Images that the weights are fitted on: of more, as many in equal steps."""

LEARNING_CURVE = 0.5
"""The odds of a mistake fall with this power of the number of images a class: ``benchmarks/review.py`` measures 0.4 to
0.7."""

DRAWN = 2.0
"""Images' worth of weight of the mean of all classes in what is said of one."""

LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Doubts:
    """Labels as class numbers (n,), probabilities (n, c) by a model that has not seen the image, share of wrong labels.

    A label is taken to be wrong with the chance ``noise``, and then to be any other one with equal chances.
    """

    given: NDArray[np.int64]
    probabilities: Float64
    noise: float

    @classmethod
    def fit(cls, given: NDArray[np.int64], scores: Float64, distances: Float64 | None) -> Doubts:
        """Probabilities from scores (n, c) and distances (n, c) to the classes, weighed by what the labels say of both.

        The weights and the share of wrong labels are those under which the labels as given are the most likely.
        """
        parts = [scores] if distances is None else [scores, -distances]
        parts = [each / max(float(each.std(axis=1).mean()), LEAST) for each in parts]
        some = np.linspace(0, len(given) - 1, min(len(given), MOST_FITTED)).astype(np.int64)
        few, rows = [each[some] for each in parts], np.arange(len(some))

        def logs(weights: Float64, parts: list[Float64]) -> Float64:
            total = sum(np.exp(weight) * each for weight, each in zip(weights, parts, strict=True))
            total -= total.max(axis=1, keepdims=True)
            return np.asarray(total - np.log(np.exp(total).sum(axis=1, keepdims=True)))

        def loss(found: Float64) -> float:
            right = np.exp(logs(found[:-1], few)[rows, given[some]])
            noise = 1 / (1 + np.exp(-found[-1]))
            likely = np.log((1 - noise) * right + noise * (1 - right) / max(scores.shape[1] - 1, 1) + LEAST).sum()
            prior = TYPICAL_NOISE * np.log(noise) + (1 - TYPICAL_NOISE) * np.log(1 - noise)
            return -float(likely + NOISE_WEIGHT * prior)

        first = np.array([0.0] * len(parts) + [np.log(TYPICAL_NOISE / (1 - TYPICAL_NOISE))])
        least, most = (np.array([each] * len(parts) + [noise]) for each, noise in ((-6.0, -9.0), (6.0, 0.0)))
        found = minimum(loss, by_differences(loss), first, least, most, longest=1.0)
        return cls(given, np.exp(logs(found[:-1], parts)), float(1 / (1 + np.exp(-found[-1]))))

    @cached_property
    def chances(self) -> Float64:
        """How likely each class (n, c) is the true one, of an image that came with its label."""
        other = self.noise / max(self.probabilities.shape[1] - 1, 1)
        joint = self.probabilities * other
        rows = np.arange(len(self.given))
        joint[rows, self.given] = self.probabilities[rows, self.given] * (1 - self.noise)
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    @property
    def wrong(self) -> Float64:
        """How likely each label (n,) is wrong."""
        return np.asarray(1 - self.chances[np.arange(len(self.given)), self.given])

    @property
    def order(self) -> NDArray[np.intp]:
        """Numbers of all images, the likeliest wrong first."""
        return np.argsort(self.chances[np.arange(len(self.given)), self.given], kind="stable")

    @property
    def suggested(self) -> NDArray[np.int64]:
        """The likeliest class (n,) other than the given one."""
        others = self.chances.copy()
        others[np.arange(len(self.given)), self.given] = -1.0
        return np.asarray(others.argmax(axis=1))

    def confusions(self) -> Float64:
        """How many images (c, c) of each class would be taken for each other one; labels likely wrong count little."""
        found = np.zeros((self.probabilities.shape[1],) * 2)
        np.add.at(found, self.given, self.probabilities * (1 - self.wrong)[:, None])
        np.fill_diagonal(found, 0.0)
        return found

    def mistakes(self) -> Float64:
        """The expected share (c,) of mistakes on images of each class; where these are few, drawn to that of all."""
        weights = 1 - self.wrong
        wrong = weights * (1 - self.probabilities[np.arange(len(self.given)), self.given])
        images, mistaken = (
            np.bincount(self.given, each, minlength=self.probabilities.shape[1]) for each in (weights, wrong)
        )
        overall = wrong.sum() / max(weights.sum(), LEAST)
        return np.asarray((mistaken + DRAWN * overall) / (images + DRAWN))


def gain_of_more(mistakes: Float64, images: Sequence[int] | NDArray[np.int64], more: int) -> Float64:
    """By how much the share of mistakes (c,) of each class would fall with so many more images."""
    images = np.asarray(images, dtype=np.float64)
    odds = mistakes / np.maximum(1 - mistakes, LEAST) * (images / (images + more)) ** LEARNING_CURVE
    return np.asarray(mistakes - odds / (1 + odds))
