"""What a lesson will cost, said before it begins: a few passes are timed, and the rest is counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foro.adaptation.adaptation import search_passes

if TYPE_CHECKING:
    from foro.learner import Learner
    from foro.types import Label

TRIALS = (2, 16)
"""Images whose passes are timed: a few, and where that is not enough, so many that all processors are occupied."""

SOON = 5.0
"""Seconds of a lesson that are not worth a second trial."""


@dataclass(frozen=True)
class Cost:
    """Images of a lesson, and seconds for their features and for an adaptation; reading them is not in it."""

    images: int
    features: float
    adaptation: float

    @property
    def seconds(self) -> float:
        return self.features + self.adaptation


def expected_cost(learner: Learner, labels: Sequence[Label]) -> Cost:
    """The cost of learning images with these labels, as fast as this machine is at the moment."""
    backbone, config = learner.backbone, learner.config
    searched = search_passes(config, learner.adaptation, labels)
    for count in TRIALS:
        pixels = np.zeros((min(count, len(labels)), 3, backbone.image_size, backbone.image_size), np.float32)
        start = time.perf_counter()
        backbone.forward(backbone.embed(pixels))
        each = (time.perf_counter() - start) / len(pixels)
        if each * (len(labels) + searched) < SOON:
            break
    adaptation = each * searched
    if config.policy == "freeze" and config.search_seconds is not None:
        adaptation = min(adaptation, config.search_seconds)
    return Cost(len(labels), each * len(labels), adaptation)
