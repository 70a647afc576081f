"""Images through the backbone, in batches, with a count of the forward passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from foro.backbones.base import Backbone
from foro.features.candidate import NEUTRAL, Candidate, stacked
from foro.features.readout import Readout
from foro.features.sample import LocalSample, Sample
from foro.images.load import Images, pixel_batches
from foro.types import Float32

BATCH = 32


class Extractor:
    """Runs images through a backbone; ``forward_passes`` counts the sequences, every candidate's."""

    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone
        self.forward_passes = 0

    def forward(self, tokens: Float32, candidates: Sequence[Candidate]) -> Float32:
        """What is read of every layer, (K, n, outputs, dim), for tokens (n, m, dim) and K candidates."""
        backbone = self.backbone
        prompts, gains = stacked(candidates)
        if gains is not None and len(candidates) == 1:  # in the weights they cost nothing
            backbone, gains = backbone.with_gains(gains[0]), None
        layers = backbone.forward(tokens, prompts, gains)
        self.forward_passes += layers.shape[0] * layers.shape[1]
        return layers

    def tokens(self, images: Images, batch: int = BATCH) -> Iterator[Float32]:
        """Tokens (b, m, dim) of images, in batches."""
        for pixels in pixel_batches(images, self.backbone.preprocessing, batch):
            yield self.backbone.embed(pixels)

    def sample(self, images: Images) -> Sample:
        """A sample to compare candidates on; the patch embedding is computed this once."""
        return LocalSample(self.forward, np.concatenate(list(self.tokens(images))))

    def layers(self, images: Images, candidate: Candidate = NEUTRAL) -> Iterator[Float32]:
        """What is read of every layer, (b, outputs, dim), of images with one candidate, in batches."""
        for tokens in self.tokens(images):
            yield self.forward(tokens, [candidate])[0]

    def features(self, images: Images, readout: Readout, candidate: Candidate = NEUTRAL) -> Iterator[Float32]:
        """Feature vectors (b, d) of images with one candidate, in batches."""
        for layers in self.layers(images, candidate):
            yield readout(layers)
