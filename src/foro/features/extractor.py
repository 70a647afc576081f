"""Images through the backbone, in batches, with a count of the forward passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foro.backbones.base import Backbone
from foro.features.sample import LocalSample, Sample
from foro.images.load import Images, pixel_batches
from foro.types import Float32

BATCH = 64


class Extractor:
    """Runs images through a backbone; ``forward_passes`` counts the sequences, every candidate's."""

    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone
        self.forward_passes = 0

    def forward(self, tokens: Float32, candidates: Float32 | None) -> Float32:
        """CLS of every layer (K, n, depth, dim) for tokens (n, m, dim) and candidates (K, P, dim)."""
        layers = self.backbone.forward(tokens, candidates)
        self.forward_passes += layers.shape[0] * layers.shape[1]
        return layers

    def tokens(self, images: Images, batch: int = BATCH) -> Iterator[Float32]:
        """Tokens (b, m, dim) of images, in batches."""
        for pixels in pixel_batches(images, self.backbone.preprocessing, batch):
            yield self.backbone.embed(pixels)

    def sample(self, images: Images) -> Sample:
        """A sample to compare candidates on; the patch embedding is computed this once."""
        return LocalSample(self.forward, np.concatenate(list(self.tokens(images))))

    def layers(self, images: Images, prompt: Float32 | None) -> Iterator[Float32]:
        """CLS of every layer (b, depth, dim) of images with one prompt (P, dim), in batches."""
        candidates = None if prompt is None else prompt[None]
        for tokens in self.tokens(images):
            yield self.forward(tokens, candidates)[0]
