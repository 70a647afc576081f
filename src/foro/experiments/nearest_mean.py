"""CMA-ES without the knowledge encoder: an evolved prompt and the nearest class mean."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from foro.data.images import Images
from foro.experiments.learner_method import LearnerMethod
from foro.experiments.method import Settings
from foro.knowledge.encoder import Label


class NearestMean(LearnerMethod):
    """Predicts the class whose mean feature has the smallest angle with the image's; the projection is not used.

    The means are in the learner's statistics anyway: C divided by the counts. The fitness judges candidates on the
    features themselves, too.
    """

    fixed: ClassVar[Settings] = {"projection_dim": None}

    def predict(self, images: Images) -> list[Label]:
        features = self.learner.features(images).astype(np.float64)
        means = self.learner.encoder.means
        cosines = features @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
        labels = self.learner.labels
        return [labels[number] for number in cosines.argmax(axis=1)]
