"""The knowledge encoder alone, on the features of the empty prompt."""

from __future__ import annotations

from typing import ClassVar

from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import Settings, register


@register("kem", row="KEM")
class Kem(LearnerMethod):
    """The knowledge encoder without a prompt, γ by cross-validation."""

    fixed: ClassVar[Settings] = {"policy": "none"}


@register("kem-paper", row="KEM")
class KemPaper(LearnerMethod):
    """The knowledge encoder without a prompt, γ = 0.1 as in the paper."""

    preset = "paper"
    fixed: ClassVar[Settings] = {"policy": "none", "online": False}
