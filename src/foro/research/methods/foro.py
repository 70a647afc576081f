"""FoRo, as measured to work best and as in the paper."""

from __future__ import annotations

from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import register


@register("foro", row="FoRo")
class Foro(LearnerMethod):
    """A prompt evolved on the first task and frozen, then KEM with γ by cross-validation: our default."""


@register("foro-paper", row="FoRo")
class ForoPaper(LearnerMethod):
    """The paper's Algorithm 1 and values: a prompt that evolves with every batch of every task, KEM with γ = 0.1."""

    preset = "paper"
