"""A learner that takes features from the cache where it can; what it learns is the same as without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foro.backbones.base import Backbone
from foro.features.cache import FeatureCache
from foro.features.extractor import BATCH, Extractor
from foro.heads.head import PART
from foro.images.load import Images
from foro.images.task_images import TaskImages
from foro.learner import Learner
from foro.types import Float32


class CachedLearner(Learner):
    """A ``Learner`` with an optional feature cache."""

    cache: FeatureCache | None = None

    def _extractor(self) -> Extractor:
        # A prompt that evolves with every task makes features that are used once: caching them would only cost.
        if self.cache is None or self.config.policy == "evolve":
            return super()._extractor()
        return CachedExtractor(self.backbone, self.cache, self.config.readout_layers)


class CachedExtractor(Extractor):
    """An ``Extractor`` of the last layers of a task's images that computes only what the cache does not have.

    ``forward_passes`` also counts the cached ones, so that the cost of a method does not depend on the cache.
    """

    def __init__(self, backbone: Backbone, cache: FeatureCache, layers: int) -> None:
        super().__init__(backbone)
        self.cache = cache
        self.kept = layers

    def layers(self, images: Images, prompt: Float32 | None) -> Iterator[Float32]:
        """CLS of the last layers (b, kept, dim) of images with one prompt (P, dim), in batches."""
        if not isinstance(images, TaskImages):
            yield from super().layers(images, prompt)
            return
        shelf = self.cache.shelf(self.backbone, images.samples, prompt, self.kept)
        missing = images.positions[~shelf.known(images.positions)]
        served = len(images) - len(missing)
        for start in range(0, len(missing), PART):
            part = missing[start : start + PART]
            batches = super().layers(TaskImages(images.samples, part), prompt)
            shelf.put(part, np.concatenate([layers[:, -self.kept :] for layers in batches]))
            self.cache.shrink(shelf)
        for start in range(0, len(images), BATCH):
            yield shelf.take(images.positions[start : start + BATCH])
        self.cache.served += served
        self.forward_passes += served
