"""FoRo and its parts, each with our settings and with the paper's: one entry for each method."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from foro.errors import InputError
from foro.images.load import Images
from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import Settings, register
from foro.types import Label


class WithoutEncoder(LearnerMethod):
    """An evolved prompt without the knowledge encoder: the nearest class mean by angle, in unprojected features.

    The learner's statistics contain the means anyway, and its fitness is computed on the same features.
    """

    fixed: ClassVar[Settings] = {"projection_dim": None}

    def settle(self) -> None:
        """Nothing: the means need no classifier."""

    def predict(self, images: Images) -> list[Label]:
        labels = self.learner.labels
        if not labels:
            raise InputError("nothing has been learned yet")
        means = self.learner.encoder.means
        scores = self.learner.features(images) @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
        return [labels[number] for number in scores.argmax(axis=1)]


def _variant(name: str, row: str, summary: str, base: type[LearnerMethod] = LearnerMethod, **fixed: Any) -> None:
    """Registers a method that is defined by the settings in ``fixed``; ``-paper`` has the paper's preset."""
    preset = "paper" if name.endswith("-paper") else "default"
    members = {"__doc__": summary, "preset": preset, "fixed": {**base.fixed, **fixed}}
    method: Any = type(name, (base,), members)
    register(name, row)(method)


_variant(
    "foro", "FoRo", "A prompt evolved on the first task and frozen, then KEM with γ by cross-validation: our default"
)
_variant(
    "foro-paper",
    "FoRo",
    "The paper's Algorithm 1 and values: a prompt that evolves with every batch of every task, KEM with γ = 0.1",
)
_variant("kem", "KEM", "The knowledge encoder without a prompt, γ by cross-validation", policy="none")
_variant(
    "kem-paper", "KEM", "The knowledge encoder without a prompt, γ = 0.1 as in the paper", policy="none", online=False
)
_variant(
    "fitness",
    "Fitness",
    "CMA-ES alone: a prompt evolved on the first task and frozen, nearest class mean, no encoder",
    WithoutEncoder,
)
_variant(
    "fitness-paper",
    "Fitness",
    "CMA-ES alone as in the paper: a prompt that evolves with every batch, nearest class mean, no encoder",
    WithoutEncoder,
)

for term in ("entropy", "discrepancy"):  # the ablation, Table 2
    for suffix in ("", "-paper"):
        row = term.capitalize()
        _variant(f"{term}-kem{suffix}", f"{row} + KEM", f"foro{suffix} with the {term} term only", fitness=term)
        _variant(f"{term}{suffix}", row, f"fitness{suffix} with the {term} term only", WithoutEncoder, fitness=term)
