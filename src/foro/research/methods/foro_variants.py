"""FoRo and its parts, each with our settings and with the paper's: one entry for each method."""

from __future__ import annotations

from typing import Any

from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import register

WITHOUT_ENCODER = {"projection_dim": None, "head": "nearest-mean"}
"""The nearest class mean by angle, in unprojected features, instead of the knowledge encoder."""


def _variant(name: str, row: str, summary: str, **fixed: Any) -> None:
    """Registers a method that is defined by the settings in ``fixed``; ``-paper`` has the paper's preset."""
    preset = "paper" if name.endswith("-paper") else "adapt"
    members = {"__doc__": summary, "preset": preset, "fixed": fixed}
    method: Any = type(name, (LearnerMethod,), members)
    register(name, row)(method)


_variant("foro", "FoRo", "Gains evolved on the first task and frozen if they help, then KEM with γ by cross-validation")
_variant(
    "foro-paper",
    "FoRo",
    "The paper's Algorithm 1 and values: a prompt that evolves with every batch of every task, KEM with γ = 0.1",
)
_variant("kem", "KEM", "The knowledge encoder without a prompt, γ by cross-validation", policy="none")
_variant(
    "kem-cls", "KEM", "kem on the last CLS alone, as RanPAC without its first session", policy="none", readout="cls"
)
_variant(
    "kem-paper", "KEM", "The knowledge encoder without a prompt, γ = 0.1 as in the paper", policy="none", online=False
)
_variant(
    "fitness",
    "Fitness",
    "CMA-ES alone: a prompt evolved on the first task and frozen, nearest class mean, no encoder",
    **WITHOUT_ENCODER,
)
_variant(
    "fitness-paper",
    "Fitness",
    "CMA-ES alone as in the paper: a prompt that evolves with every batch, nearest class mean, no encoder",
    **WITHOUT_ENCODER,
)

for term in ("entropy", "discrepancy"):  # the ablation, Table 2
    for suffix in ("", "-paper"):
        row = term.capitalize()
        _variant(f"{term}-kem{suffix}", f"{row} + KEM", f"foro{suffix} with the {term} term only", fitness=term)
        _variant(f"{term}{suffix}", row, f"fitness{suffix} with the {term} term only", fitness=term, **WITHOUT_ENCODER)
