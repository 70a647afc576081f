"""The rows of the paper's Table 2 without KEM: a prompt evolved by a part of the fitness, nearest class mean."""

from __future__ import annotations

from typing import ClassVar

from foro.research.methods.method import Settings, register
from foro.research.methods.nearest_mean import NearestMean


@register("fitness", row="Fitness")
class Fitness(NearestMean):
    """CMA-ES alone: a prompt evolved on the first task and frozen, nearest class mean, no encoder."""


@register("fitness-paper", row="Fitness")
class FitnessPaper(NearestMean):
    """CMA-ES alone as in the paper: a prompt that evolves with every batch, nearest class mean, no encoder."""

    preset = "paper"


@register("entropy", row="Entropy")
class Entropy(NearestMean):
    """``fitness`` with the entropy term only."""

    fixed: ClassVar[Settings] = {**NearestMean.fixed, "fitness": "entropy"}


@register("entropy-paper", row="Entropy")
class EntropyPaper(FitnessPaper):
    """``fitness-paper`` with the entropy term only."""

    fixed: ClassVar[Settings] = Entropy.fixed


@register("discrepancy", row="Discrepancy")
class Discrepancy(NearestMean):
    """``fitness`` with the discrepancy term only."""

    fixed: ClassVar[Settings] = {**NearestMean.fixed, "fitness": "discrepancy"}


@register("discrepancy-paper", row="Discrepancy")
class DiscrepancyPaper(FitnessPaper):
    """``fitness-paper`` with the discrepancy term only."""

    fixed: ClassVar[Settings] = Discrepancy.fixed
