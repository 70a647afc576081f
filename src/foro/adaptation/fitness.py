"""How good a candidate is: how well its features generalise, and how far they drift from earlier tasks.

A term of the fitness is one function under a name; ``fitness`` of the settings names those that are added up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foro.adaptation.activation_history import ActivationHistory
from foro.config import Regularisation
from foro.errors import InputError
from foro.features.readout import Readout
from foro.heads.calibration import cross_entropy, fit_sharpness
from foro.heads.projection import RandomProjection
from foro.heads.ridge.leave_one_out import best_regularisation, leave_one_out
from foro.types import Float32, Float64, Label

Term = Callable[["Fitness", Float32], float]
"""A number for what is read of every layer with a candidate, (n, outputs, dim); lower is better."""

TERMS: dict[str, Term] = {}
SHOTS, DRAWS = 2, 40
"""Images of each class that a head is taught, and heads."""

FEW_SHOT_GAMMA, FEW_SHOT_SHARPNESS = 0.1, 8.0
"""γ of these heads against the mean square of what they are taught, and of the softmax of their scores."""

BOTH = "both"
"""The paper's two terms."""


def term(name: str) -> Callable[[Term], Term]:
    """Makes a function a term of the fitness under a name."""

    def decorate(function: Term) -> Term:
        TERMS[name] = function
        return function

    return decorate


def parse_terms(text: str) -> tuple[str, ...]:
    """The names of the terms in a setting such as ``entropy``, ``both`` or ``entropy+discrepancy``."""
    names = ("entropy", "discrepancy") if text == BOTH else tuple(text.split("+"))
    for name in names:
        if name not in TERMS:
            raise InputError(f"fitness must be {BOTH} or made of {', '.join(TERMS)} joined by +, not {text!r}")
    return names


@dataclass(frozen=True)
class Fitness:
    """The fitness (lower is better) for the samples of one search, divided by their number n."""

    projection: RandomProjection | None
    classes: NDArray[np.int64]
    history: ActivationHistory
    discrepancy_weight: float
    readout: Readout
    terms: tuple[str, ...]
    regularisation: float
    sharpness: float = 1.0

    @classmethod
    def on(
        cls,
        layers: Float32,
        labels: list[Label],
        readout: Readout,
        projection: RandomProjection | None,
        regularisation: Regularisation,
        history: ActivationHistory,
        discrepancy_weight: float = 0.3,
        terms: str = BOTH,
    ) -> Fitness:
        """A fitness for samples of which this is read of every layer, (n, outputs, dim), without or with a candidate.

        γ and the sharpness of the softmax are chosen once, on these: all candidates must be compared on one scale. A
        plain softmax of ridge scores is nearly flat, and the discrepancy would drown what little it says.
        """
        names = list(dict.fromkeys(labels))
        classes = np.array([names.index(label) for label in labels])
        gamma = 1.0 if regularisation == "auto" else float(regularisation)
        fitness = cls(projection, classes, history, discrepancy_weight, readout, parse_terms(terms), gamma)
        if regularisation == "auto":
            fitness = replace(fitness, regularisation=best_regularisation(fitness.rows(layers), classes))
        return replace(fitness, sharpness=fit_sharpness(fitness.scores(layers), classes))

    def __call__(self, layers: Float32) -> float:
        """Fitness of a candidate, from what is read of every layer, (n, outputs, dim)."""
        return sum(TERMS[name](self, layers) for name in self.terms)

    def cross_entropy(self, layers: Float32) -> Float64:
        """Cross-entropy (n,) of the leave-one-out scores of each sample."""
        return cross_entropy(self.scores(layers), self.classes, self.sharpness)

    def few_shot(self, layers: Float32) -> Float64:
        """Cross-entropy (n,) of each sample for heads that were taught two images of each class, the mean of many.

        Such heads err often, so that every sample says something, and what helps them helps classes to come.
        """
        rows = self.rows(layers)
        return few_shot_entropy(rows @ rows.T, self.classes)

    def scores(self, layers: Float32) -> Float64:
        """Leave-one-out scores (n, c) of a ridge classifier on the projected features of these samples alone."""
        return leave_one_out(self.rows(layers), np.eye(self.classes.max() + 1)[self.classes], self.regularisation)

    def rows(self, layers: Float32) -> Float64:
        """What the classifier sees of the samples, (n, M)."""
        features = self.readout(layers).astype(np.float64)
        return features if self.projection is None else self.projection(features)


@term("entropy")
def entropy(fitness: Fitness, layers: Float32) -> float:
    """Term (a): mean cross-entropy of leave-one-out scores; the paper's needs logits of classes that no head knows."""
    return float(fitness.cross_entropy(layers).mean())


@term("few-shot")
def few_shot(fitness: Fitness, layers: Float32) -> float:
    """Mean cross-entropy of heads that were taught two images of each class."""
    return float(fitness.few_shot(layers).mean())


@term("discrepancy")
def discrepancy(fitness: Fitness, layers: Float32) -> float:
    """Term (b): λ/n times the activation discrepancy, so that λ weighs as in the paper, where (a) is a sum."""
    drift = fitness.history.discrepancy(ActivationHistory.of(layers[:, : len(fitness.history.mean)]))
    return fitness.discrepancy_weight * drift / len(layers)


def few_shot_entropy(kernel: Float64, classes: NDArray[np.int64]) -> Float64:
    """Mean cross-entropy (n,) of each sample over heads that it did not teach, from inner products (n, n).

    The draws are the same for every kernel of the same classes. γ goes with the kernel, so that its scale says nothing.
    """
    count, generator = len(classes), np.random.default_rng(0)
    groups = [np.flatnonzero(classes == number) for number in range(classes.max() + 1)]
    targets, total, times = np.eye(len(groups))[classes], np.zeros(count), np.zeros(count)
    for _ in range(DRAWS):
        taught = np.concatenate([generator.permutation(each)[: min(SHOTS, len(each) - 1)] for each in groups])
        asked = np.setdiff1d(np.arange(count), taught)
        block = kernel[np.ix_(taught, taught)]
        ridge = block + FEW_SHOT_GAMMA * np.trace(block) / max(len(taught), 1) * np.eye(len(taught))
        scores = kernel[np.ix_(asked, taught)] @ np.linalg.solve(ridge, targets[taught])
        total[asked] += cross_entropy(scores, classes[asked], FEW_SHOT_SHARPNESS)
        times[asked] += 1
    return np.asarray(total / np.maximum(times, 1))
