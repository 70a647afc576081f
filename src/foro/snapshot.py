"""A learner at one moment, for predicting: nothing that is learned later changes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foro.errors import InputError
from foro.features.readout import readout
from foro.heads.calibration import probabilities
from foro.heads.ridge.projection import RandomProjection
from foro.heads.ridge.statistics import BLOCK
from foro.images.load import Images, check_images
from foro.types import Float32, Float64, Label
from foro.util.progress import progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    from foro.backbones import Backbone
    from foro.features.extractor import Extractor


def best_labels(labels: Sequence[Label], values: Float64, k: int) -> list[tuple[Label, float]]:
    """The k labels with the highest values (c,), and these, best first; of equals, the one learned first."""
    return [(labels[number], float(values[number])) for number in np.argsort(-values, kind="stable")[:k]]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What predicting needs: a prompt, a projection, a classifier and its labels, all read-only.

    Any number of threads may predict with one snapshot while another thread goes on learning; when that has learned
    something, it makes the next snapshot, and a single assignment puts it in the place of the old one.

    Examples
    --------
    >>> snapshot = learner.snapshot()       # by the thread that learns    # doctest: +SKIP
    >>> snapshot.predict(["who.jpg"])       # by any thread, at any time   # doctest: +SKIP
    ['cat']
    """

    labels: tuple[Label, ...]
    weights: Float64  # (M, c)
    sharpness: float  # of the softmax that makes probabilities of scores
    prompt: Float32 | None
    projection: RandomProjection | None
    readout_layers: int
    extractor: Extractor
    source: str | None = None  # where the backbone comes from, if by name

    @classmethod
    def load(cls, path: str | Path, backbone: str | Path | Backbone | None = None) -> Snapshot:
        """The snapshot of a model file, or of one that ``foro export`` made for predicting only."""
        from foro.files.inference_file import load_snapshot

        return load_snapshot(path, backbone)

    def features(self, images: Images, doing: str = "features") -> Iterator[Float32]:
        """Feature vectors (b, d) of images, in batches."""
        images = check_images(images)
        with progress_bar(doing, len(images)) as advance:
            for layers in self.extractor.layers(images, self.prompt):
                yield readout(layers, self.readout_layers)
                advance(len(layers))

    def scores(self, images: Images) -> Float64:
        """Scores (n, c) of images, one column for each of ``labels``."""
        return self._joined(self.score_features(part) for part in self.features(images, "predicting"))

    def score_features(self, features: Float32) -> Float64:
        """Scores (n, c) of feature vectors (n, d)."""
        return self._joined(
            self._project(features[start : start + BLOCK].astype(np.float64)) @ self.weights
            for start in range(0, len(features), BLOCK)
        )

    def probabilities(self, images: Images) -> Float64:
        """How likely each of ``labels`` is (n, c), for each image."""
        return probabilities(self.scores(images), self.sharpness)

    def predict(self, images: Images) -> list[Label]:
        """The most likely label of each image."""
        return [self.labels[number] for number in self.scores(images).argmax(axis=1)]

    def top(self, images: Images, k: int = 5) -> list[list[tuple[Label, float]]]:
        """The k best labels of each image with their scores, best first."""
        if k < 1:
            raise InputError(f"the best {k} labels cannot be told: k must be at least 1")
        return [best_labels(self.labels, row, k) for row in self.scores(images)]

    def _project(self, features: Float64) -> Float64:
        return features if self.projection is None else self.projection(features)

    def _joined(self, parts: Iterator[Float64]) -> Float64:
        listed = list(parts)
        return np.concatenate(listed) if listed else np.zeros((0, len(self.labels)))
