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

Memory: the adapted weights, and one sum of features for each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from foro.backbones.base import Backbone
from foro.heads.nearest_mean import NearestMean
from foro.research.baselines.adapted_backbone import AdaptedBackbone
from foro.research.baselines.first_session import FAST, FirstSessionMethod, FirstSessionSettings, gathered_for
from foro.research.methods.method import Settings, register
from foro.types import Float32, Label


@register("adam", row="ADAM")
class Adam(FirstSessionMethod):
    """ADAM: adapters trained on the first task, then prototypes of frozen and adapted features."""

    settings_type = FirstSessionSettings
    classifier: NearestMean
    fast: ClassVar[Settings] = FAST

    def sources(self, adapted: AdaptedBackbone | None) -> list[Backbone]:
        return [self.backbone] if adapted is None else [self.backbone, adapted]

    def make_classifier(self) -> NearestMean:
        copies = 1 if self.settings.adaptation == "none" else 2
        return NearestMean(copies * self.backbone.dim)

    def gathered(self, batches: Iterable[Float32], names: list[Label]) -> Callable[[], None]:
        return gathered_for(self.classifier, batches, names)
