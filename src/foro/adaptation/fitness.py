"""How good a candidate prompt is: how well its features generalise, and how far they drift from earlier tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from foro.adaptation.history import ActivationHistory
from foro.features.readout import readout
from foro.heads.calibration import cross_entropy, fit_sharpness
from foro.heads.ridge.encoder import KnowledgeEncoder
from foro.heads.ridge.leave_one_out import leave_one_out
from foro.types import Float32, Float64, Label

Terms = Literal["both", "entropy", "discrepancy"]


@dataclass(frozen=True)
class Fitness:
    """The paper's fitness (lower is better) for the samples of one search, divided by their number n.

    Term (a) is the mean cross-entropy of leave-one-out scores: the paper's cross-entropy needs logits of classes that
    no head knows yet. Term (b) is λ/n times the activation discrepancy, so that λ weighs as in the paper, where (a) is
    a sum over samples.
    """

    encoder: KnowledgeEncoder  # its projection and γ setting; it is not changed
    classes: NDArray[np.int64]
    history: ActivationHistory
    discrepancy_weight: float
    readout_layers: int
    terms: Terms
    regularisation: float
    sharpness: float

    @classmethod
    def on(
        cls,
        layers: Float32,
        labels: list[Label],
        encoder: KnowledgeEncoder,
        history: ActivationHistory,
        discrepancy_weight: float = 0.3,
        readout_layers: int = 1,
        terms: Terms = "both",
    ) -> Fitness:
        """A fitness for samples with these CLS of every layer (n, depth, dim), of the empty prompt or of a candidate.

        γ and the sharpness of the softmax are chosen once, on these: all candidates must be compared on one scale. A
        plain softmax of ridge scores is nearly flat, and the discrepancy would drown what little it says.
        """
        names = list(dict.fromkeys(labels))
        classes = np.array([names.index(label) for label in labels])
        gamma = encoder.regularisation
        if gamma == "auto":
            head = encoder.blank(thin_limit=len(labels))
            head.absorb(readout(layers, readout_layers), labels)
            gamma = head.regularisation_used
        fitness = cls(encoder, classes, history, discrepancy_weight, readout_layers, terms, gamma, 1.0)
        return replace(fitness, sharpness=fit_sharpness(fitness.scores(layers), classes))

    def __call__(self, layers: Float32) -> float:
        """Fitness of a candidate whose CLS of every layer are (n, depth, dim)."""
        value = 0.0
        if self.terms != "discrepancy":
            value += float(self.cross_entropy(layers).mean())
        if self.terms != "entropy":
            drift = self.history.discrepancy(ActivationHistory.of(layers))
            value += self.discrepancy_weight * drift / len(layers)
        return value

    def cross_entropy(self, layers: Float32) -> Float64:
        """Cross-entropy (n,) of the leave-one-out score of each sample."""
        return cross_entropy(self.scores(layers), self.classes, self.sharpness)

    def scores(self, layers: Float32) -> Float64:
        """Leave-one-out scores (n, c) of a ridge classifier on the projected features of these samples alone."""
        rows = self.encoder.project(readout(layers, self.readout_layers))
        return leave_one_out(rows, np.eye(self.classes.max() + 1)[self.classes], self.regularisation)
