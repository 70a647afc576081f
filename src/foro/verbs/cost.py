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

TRIAL = 16
"""Images whose passes are timed: enough to occupy the processors."""

BRIEF = 0.5
"""Seconds: a trial that takes longer is not repeated."""


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
    backbone = learner.backbone
    pixels = np.zeros((min(TRIAL, len(labels)), 3, backbone.image_size, backbone.image_size), np.float32)
    times: list[float] = []
    while not times or (len(times) < 2 and times[0] < BRIEF):  # the first one may be slower
        start = time.perf_counter()
        backbone.forward(backbone.embed(pixels))
        times.append(time.perf_counter() - start)
    each = min(times) / len(pixels)
    config = learner.config
    adaptation = each * search_passes(config, learner.adaptation, labels)
    if config.policy == "freeze" and config.search_seconds is not None:
        adaptation = min(adaptation, config.search_seconds)
    return Cost(len(labels), each * len(labels), adaptation)
