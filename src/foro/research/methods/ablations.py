"""The rows of the paper's Table 2 with KEM: FoRo with a part of its fitness."""

from __future__ import annotations

from typing import ClassVar

from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import Settings, register


@register("entropy-kem", row="Entropy + KEM")
class EntropyKem(LearnerMethod):
    """``foro`` with the entropy term only."""

    fixed: ClassVar[Settings] = {"fitness": "entropy"}


@register("entropy-kem-paper", row="Entropy + KEM")
class EntropyKemPaper(EntropyKem):
    """``foro-paper`` with the entropy term only."""

    preset = "paper"


@register("discrepancy-kem", row="Discrepancy + KEM")
class DiscrepancyKem(LearnerMethod):
    """``foro`` with the discrepancy term only."""

    fixed: ClassVar[Settings] = {"fitness": "discrepancy"}


@register("discrepancy-kem-paper", row="Discrepancy + KEM")
class DiscrepancyKemPaper(DiscrepancyKem):
    """``foro-paper`` with the discrepancy term only."""

    preset = "paper"
