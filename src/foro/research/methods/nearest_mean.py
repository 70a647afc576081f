"""CMA-ES without the knowledge encoder: an evolved prompt and the nearest class mean."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from foro.errors import InputError
from foro.images.load import Images
from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import Settings
from foro.types import Float64, Label


class NearestMean(LearnerMethod):
    """Predicts the class whose mean feature has the smallest angle with the image's; the projection is not used.

    The means are in the learner's statistics anyway: C divided by the counts. The fitness judges candidates on the
    features themselves, too.
    """

    fixed: ClassVar[Settings] = {"projection_dim": None}

    def settle(self) -> None:
        """Nothing: the means need no classifier."""

    def predict(self, images: Images) -> list[Label]:
        labels = self.learner.labels
        if not labels:
            raise InputError("nothing has been learned yet")
        features = self.learner.features(images).astype(np.float64)
        return [labels[number] for number in cosines(features, self.learner.encoder.means).argmax(axis=1)]


def cosines(features: Float64, means: Float64) -> Float64:
    """Cosines (n, c) between features (n, d) and class means (c, d), each times the length of the feature."""
    scores: Float64 = features @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
    return scores
