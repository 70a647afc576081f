"""How a model is made that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foro.backbones.graph.linear import Precision
from foro.backbones.source import precision_of
from foro.config import DEFAULT_BACKBONE, LearnerConfig
from foro.errors import InputError
from foro.learner import Learner


@dataclass(frozen=True)
class Recipe:
    """What a new learner is made of; None stands for the usual, and says nothing about a model that is there.

    ``like`` is another model whose backbone, settings, projection and adaptation it takes: the two can be merged.
    """

    backbone: str | None = None
    preset: str | None = None
    image_size: int | None = None
    seed: int | None = None
    like: Path | None = None
    precision: Precision | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def create(self) -> Learner:
        """A learner that knows nothing."""
        if self.like is None:
            backbone, preset = self.backbone or DEFAULT_BACKBONE, self.preset or "default"
            size, seed = self.image_size, self.seed or 0
            return Learner(backbone, preset, size, seed, precision=self.precision, **self.settings)
        learner = Learner.load(self.like, self.backbone).blank()
        self.check(learner, self.like)
        return learner

    def check(self, learner: Learner, path: Path) -> None:
        """Refuses what a model that is there does not have: nothing of this can be changed later."""
        settings = dict(self.settings)
        if self.preset is not None:
            settings = LearnerConfig.from_preset(self.preset, **self.settings).as_dict()
        mine = learner.config.as_dict()
        LearnerConfig.from_preset(**{**mine, **settings})  # an unknown setting is told as such
        given: dict[str, Any] = {"image_size": self.image_size, "precision": self.precision, "seed": self.seed}
        backbone = learner.backbone
        has = {**mine, "image_size": backbone.image_size, "precision": precision_of(backbone.fingerprint)}
        has["seed"] = learner.seed
        for name, value in {**settings, **{name: value for name, value in given.items() if value is not None}}.items():
            if has[name] != value:
                raise InputError(
                    f"{path} was made with {name} {has[name]}, which cannot be changed to {value}: "
                    "leave that out, or teach a new model"
                )
        if self.like is not None and self.like != path:
            difference = learner.difference(Learner.load(self.like, learner.backbone))
            if difference:
                raise InputError(f"{path} is there already and not like {self.like}: their {difference} differ")
