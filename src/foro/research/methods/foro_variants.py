"""FoRo and its parts, each with our settings and with the paper's: one entry for each method."""

from __future__ import annotations

from typing import Any

from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import register
from foro.research.methods.nearest_mean import NearestMean


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
    NearestMean,
)
_variant(
    "fitness-paper",
    "Fitness",
    "CMA-ES alone as in the paper: a prompt that evolves with every batch, nearest class mean, no encoder",
    NearestMean,
)

for term in ("entropy", "discrepancy"):  # the ablation, Table 2
    for suffix in ("", "-paper"):
        row = term.capitalize()
        _variant(f"{term}-kem{suffix}", f"{row} + KEM", f"foro{suffix} with the {term} term only", fitness=term)
        _variant(f"{term}{suffix}", row, f"fitness{suffix} with the {term} term only", NearestMean, fitness=term)
