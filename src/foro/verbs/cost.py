"""What a lesson will cost, said before it begins: a few passes are timed, and the rest is counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foro.adaptation.adaptation import search_passes
from foro.backbones.runtimes.microbatch import ENOUGH_ON_CPU
from foro.util.threads import thread_count

if TYPE_CHECKING:
    from foro.backbones import Backbone
    from foro.learner import Learner
    from foro.types import Label

FIRST_TRIAL = 2
"""Images whose passes are timed; where that is not enough, as many as occupy all processors."""

SOON = 5.0
"""Seconds of a lesson that are not worth a second trial."""

SMALL = 0.01
"""Part of a lesson's passes that a second trial may be where one processor does all of them: it says little more."""


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
    passes, threads = len(labels) + searched, thread_count()
    each = _seconds_of_a_pass(backbone, min(FIRST_TRIAL, len(labels)))
    trial = min(ENOUGH_ON_CPU * threads, len(labels))
    if each * passes > SOON and (threads > 1 or trial <= SMALL * passes):
        each = _seconds_of_a_pass(backbone, trial)
    adaptation = each * searched
    if config.policy == "freeze" and config.search_seconds is not None:
        adaptation = min(adaptation, config.search_seconds)
    return Cost(len(labels), each * len(labels), adaptation)


def _seconds_of_a_pass(backbone: Backbone, images: int) -> float:
    pixels = np.zeros((images, 3, backbone.image_size, backbone.image_size), np.float32)
    start = time.perf_counter()
    backbone.forward(backbone.embed(pixels))
    return (time.perf_counter() - start) / images
