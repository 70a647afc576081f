"""ADAM (adapt and merge, since renamed APER): class prototypes of frozen and adapted features side by side.

Source: Da-Wei Zhou, Zi-Wen Cai, Han-Jia Ye, De-Chuan Zhan, Ziwei Liu: Revisiting Class-Incremental Learning with
Pre-Trained Models: Generalizability and Adaptivity are All You Need, International Journal of Computer Vision, 2025
(arXiv 2303.07338, 2023).

Per task: the first one adapts the backbone under a cosine head. Then, for the first as for every other, features of
the frozen and of the adapted backbone side by side, and their mean for each class, the prototype. An image belongs to
the class whose prototype has the smallest angle with its features. Without adaptation this is the nearest class mean,
the authors' SimpleCIL.

Defaults: those of the authors' code, see ``first_session``, and adapters, which FoRo's paper names for it.

Departures: a class that comes again in a later task moves its prototype to the mean of all its images; the authors'
code has every class in one task only.

Memory: the adapted weights, one mean for each class, and the statistics of ``foro.heads.ridge`` that the means are part
of.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from foro.backbones.base import Backbone
from foro.heads.ridge import KnowledgeEncoder
from foro.research.baselines.adapted_backbone import AdaptedBackbone
from foro.research.baselines.first_session import FAST, FirstSessionMethod, FirstSessionSettings
from foro.research.methods.method import Settings, register
from foro.research.methods.nearest_mean import cosines
from foro.types import Float32, Float64


@register("adam", row="ADAM")
class Adam(FirstSessionMethod):
    """ADAM: adapters trained on the first task, then prototypes of frozen and adapted features."""

    settings_type = FirstSessionSettings
    classifier: KnowledgeEncoder
    fast: ClassVar[Settings] = FAST

    def sources(self, adapted: AdaptedBackbone | None) -> list[Backbone]:
        return [self.backbone] if adapted is None else [self.backbone, adapted]

    def make_classifier(self) -> KnowledgeEncoder:
        copies = 1 if self.settings.adaptation == "none" else 2
        return KnowledgeEncoder(copies * self.backbone.dim, projection_dim=None, seed=self.seed)

    def classify(self, features: Float32) -> Float64:
        return cosines(features.astype(np.float64), self.classifier.means)
