"""A learner that takes features from the cache where it can; what it learns is the same as without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foro.backbones.base import Backbone
from foro.features.cache import FeatureCache
from foro.features.candidate import NEUTRAL, Candidate
from foro.features.extractor import BATCH, Extractor
from foro.images.load import Images
from foro.images.task_images import TaskImages
from foro.learner import Learner
from foro.types import Float32

CHUNK = 1024
"""Images whose outputs are kept in one file of the cache."""


class CachedLearner(Learner):
    """A ``Learner`` with an optional feature cache."""

    cache: FeatureCache | None = None
    remembers = False  # a stream is learned as it is, and images in the cache are not decoded

    def _extractor(self) -> Extractor:
        # What evolves with every task makes features that are used once: caching them would only cost.
        if self.cache is None or self.config.policy == "evolve":
            return super()._extractor()
        return CachedExtractor(self.backbone, self.cache)


class CachedExtractor(Extractor):
    """An ``Extractor`` that takes a task's images from the cache, and computes only what the cache does not have.

    ``forward_passes`` also counts the cached ones, so that the cost of a method does not depend on the cache.
    """

    def __init__(self, backbone: Backbone, cache: FeatureCache) -> None:
        super().__init__(backbone)
        self.cache = cache

    def layers(self, images: Images, candidate: Candidate = NEUTRAL) -> Iterator[Float32]:
        """What is read of every layer, (b, outputs, dim), of images with one candidate, in batches."""
        if not isinstance(images, TaskImages):
            yield from super().layers(images, candidate)
            return
        shelf = self.cache.shelf(self.backbone, images.samples, candidate)
        missing = images.positions[~shelf.known(images.positions)]
        served = len(images) - len(missing)
        for start in range(0, len(missing), CHUNK):
            part = missing[start : start + CHUNK]
            shelf.put(part, np.concatenate(list(super().layers(TaskImages(images.samples, part), candidate))))
            self.cache.shrink(shelf)
        for start in range(0, len(images), BATCH):
            yield shelf.take(images.positions[start : start + BATCH])
        self.cache.served += served
        self.forward_passes += served
