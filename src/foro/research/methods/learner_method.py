"""A learner's settings as a method."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from foro.backbones.base import Backbone
from foro.config import LearnerConfig
from foro.errors import FoRoWarning, InputError
from foro.features.cache import FeatureCache
from foro.images.load import Images
from foro.research.methods.cached_learner import CachedLearner
from foro.research.methods.method import LearnCost, Method, Settings
from foro.types import Label


class LearnerMethod(Method):
    """A preset of ``Learner`` with the settings that make the method what it is; all others can be overridden."""

    preset: ClassVar[str] = "default"

    def __init__(self, learner: CachedLearner, cache: FeatureCache | None) -> None:
        learner.cache = cache
        self.learner = learner

    @classmethod
    def resolve(cls, overrides: Settings) -> dict[str, Any]:
        for name, value in cls.fixed.items():
            if overrides.get(name, value) != value:
                raise InputError(f"{cls.name} is defined by {name} = {value}, which cannot be set to {overrides[name]}")
        return LearnerConfig.from_preset(cls.preset, **{**overrides, **cls.fixed}).as_dict()

    @classmethod
    def helps(cls) -> dict[str, str]:
        return {each.name: each.metadata["help"] for each in fields(LearnerConfig) if each.name not in cls.fixed}

    @classmethod
    def build(cls, backbone: Backbone, settings: Settings, seed: int, cache: FeatureCache | None = None) -> Method:
        return cls(CachedLearner(backbone, seed=seed, **settings), cache)

    @classmethod
    def load(cls, path: Path, backbone: Backbone, cache: FeatureCache | None = None) -> Method:
        learner = CachedLearner.load(path, backbone)
        assert isinstance(learner, CachedLearner)
        return cls(learner, cache)

    def learn(self, images: Images, labels: Sequence[Label]) -> LearnCost:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoRoWarning)  # the note goes into the result instead
            report = self.learner.learn(images, labels)
        self.settle()
        return LearnCost(report.forward_passes, note=report.note or report.adaptation)

    def settle(self) -> None:
        """Solves for the classifier at once: its time and memory are part of learning, not of the first prediction."""
        self.learner.head.weights  # noqa: B018  it is kept

    def predict(self, images: Images) -> list[Label]:
        return self.learner.predict(images)

    def save(self, path: Path) -> None:
        self.learner.save(path)
