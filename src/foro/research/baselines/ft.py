"""FT: fine-tuning, the baseline that does nothing against forgetting.

Source: the paper's first baseline, "continuously trains a pre-trained model on new tasks, updating all parameters";
it has no paper of its own. Here it is as in PILOT (Sun, Zhou, Zhan, Ye: PILOT: A Pre-Trained Model-Based Continual
Learning Toolbox, Science China Information Sciences, 2025), the toolbox of the paper's authors' field.

Per task: the linear head gets a row for each new class; then all parameters of the vision transformer and the head
are trained on the images of the task.

Defaults: PILOT's settings for CIFAR-100 with a ViT-B/16 (20 epochs, SGD with momentum 0.9, learning rate 0.001,
batches of 128, weight decay 0.0005, random crops and mirroring, cross-entropy among the classes of the task only).

Departures: the learning rate falls as a cosine and the gradient's norm is clipped at 1; new rows of the head start
at zero; one weight decay for all tasks, where PILOT has 0.0002 after the first.

Memory: the model, and one row of the head for each class. Nothing else grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.features.cache import FeatureCache
from foro.images.load import Images
from foro.research.baselines.baseline import Baseline, BaselineSettings
from foro.research.baselines.linear_head import cross_entropy, grown, new_head
from foro.research.baselines.trainable import batched, cls_features, from_arrays, to_arrays, trainable_vit
from foro.research.baselines.training import TrainCost, TrainingSettings, train
from foro.research.methods.method import LearnCost, Settings, register
from foro.types import Arrays
from foro.util.settings import setting


@dataclass(frozen=True)
class FtSettings(TrainingSettings):
    """Settings of fine-tuning."""

    loss_among: Literal["task", "all"] = setting(
        "task", "classes among which the cross-entropy is taken: those of the task, or all seen so far"
    )


@register("ft", row="FT")
class Ft(Baseline):
    """Fine-tuning of all parameters, task after task."""

    settings_type: ClassVar[type[BaselineSettings]] = FtSettings
    fast: ClassVar[Settings] = {"epochs": 4, "batch_size": 32, "learning_rate": 0.05, "crop_area": 0.5}

    def __init__(self, backbone: Backbone, settings: Any, seed: int, cache: FeatureCache | None = None) -> None:
        super().__init__(backbone, settings, seed, cache)
        self.model = trainable_vit(backbone)
        self.head = new_head(backbone.dim, self.model.cls_token.device)

    def learn_task(self, images: Images, targets: NDArray[np.intp]) -> LearnCost:
        self.head = grown(self.head, len(self.labels))
        among = self.among(targets)
        cost = self.fit(images, targets, lambda pixels, wanted: cross_entropy(self.logits(pixels), wanted, among))
        return LearnCost(cost.forward_passes, cost.backward_passes, cost.note)

    def logits(self, pixels: Any) -> Any:
        """Scores (b, c) of pixels."""
        return self.head(cls_features(self.model, pixels))

    def among(self, targets: NDArray[np.intp]) -> Any:
        """The classes that the cross-entropy is taken among; None: all."""
        import torch

        if self.settings.loss_among == "all":
            return None
        return torch.from_numpy(np.unique(targets)).to(self.head.weight.device)

    def fit(self, images: Images, targets: NDArray[np.intp], loss: Any, forwards: int = 1) -> TrainCost:
        """Trains everything."""
        parameters = [*self.model.parameters(), *self.head.parameters()]
        seed = (self.seed, self.tasks)
        return train(
            parameters, loss, images, targets, self.settings, seed, self.backbone.preprocessing, forwards=forwards
        )

    def scores(self, images: Images) -> NDArray[np.float32]:
        return batched(self.logits, images, self.backbone.preprocessing, self.head.weight.device)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        return {**to_arrays(self.model, "model."), **to_arrays(self.head, "head.")}, {}

    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        self.head = grown(self.head, len(self.labels))
        from_arrays(self.model, arrays, "model.")
        from_arrays(self.head, arrays, "head.")
