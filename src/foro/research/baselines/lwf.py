"""LwF: fine-tuning that keeps what the old model said about the new images.

Source: Zhizhong Li, Derek Hoiem: Learning without Forgetting, ECCV 2016; IEEE Transactions on Pattern Analysis and
Machine Intelligence 40(12), 2018.

Per task: the head gets rows for the new classes, which are first trained alone (the paper's warm-up); then all
parameters are trained on the cross-entropy of the new classes plus the distillation of the old ones: the
cross-entropy between the previous model's and the new model's probabilities of the old classes, both at a
temperature.

Defaults: temperature 2 and weight 1 are the paper's; the training is that of FT, so that the two differ in the
distillation only. The paper trains the new rows "to convergence": here for 5 epochs.

Departures: the paper knows the task of a test image and asks that task's head only; here, as in every
class-incremental comparison, one head has all classes. The paper trained AlexNet and VGG.

Memory: the model and the head; while a task is learned also the previous model.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foro.images.load import Images
from foro.research.baselines.ft import Ft, FtSettings
from foro.research.baselines.linear_head import cross_entropy, grown
from foro.research.baselines.trainable import cls_features
from foro.research.baselines.training import TrainCost, train
from foro.research.methods.method import LearnCost, Settings, register
from foro.util.settings import setting


@dataclass(frozen=True)
class LwfSettings(FtSettings):
    """Settings of learning without forgetting."""

    temperature: float = setting(2.0, "T, temperature of the distillation", least=0.01)
    distillation_weight: float = setting(1.0, "weight of the distillation against the cross-entropy", least=0)
    warmup_epochs: int = setting(5, "epochs in which the head is trained alone, from the second task on", least=0)


@register("lwf", row="LwF")
class Lwf(Ft):
    """Learning without forgetting: fine-tuning with distillation from the previous model."""

    settings_type = LwfSettings
    revision = 1
    fast: ClassVar[Settings] = {**Ft.fast, "warmup_epochs": 0}

    def learn_task(self, images: Images, targets: NDArray[np.intp]) -> LearnCost:
        known = len(self.head.weight)
        if known == 0:
            return super().learn_task(images, targets)
        old_model, old_head = (deepcopy(each).requires_grad_(False) for each in (self.model, self.head))
        self.head = grown(self.head, len(self.labels))
        among = self.among(targets)

        def loss(pixels: Any, wanted: Any) -> Any:
            import torch

            logits = self.logits(pixels)
            with torch.no_grad():
                before = old_head(cls_features(old_model, pixels))
            distilled = distillation(logits[:, :known], before, self.settings.temperature)
            return cross_entropy(logits, wanted, among) + self.settings.distillation_weight * distilled

        cost = self._warm_up(images, targets, among) + self.fit(images, targets, loss, forwards=2)
        return LearnCost(cost.forward_passes, cost.backward_passes, cost.note)

    def _warm_up(self, images: Images, targets: NDArray[np.intp], among: Any) -> TrainCost:
        import torch

        if not self.settings.warmup_epochs:
            return TrainCost(0, 0, 0.0, ())

        def loss(pixels: Any, wanted: Any) -> Any:
            with torch.no_grad():
                features = cls_features(self.model, pixels)
            return cross_entropy(self.head(features), wanted, among)

        settings = replace(self.settings, epochs=self.settings.warmup_epochs, weight_decay=0.0)  # old rows stay
        seed, preprocessing = (self.seed, self.tasks, 1), self.backbone.preprocessing
        return train(
            self.head.parameters(),
            loss,
            images,
            targets,
            settings,
            seed,
            preprocessing,
            backwards=0,
            doing="training the head",
        )


def distillation(logits: Any, before: Any, temperature: float) -> Any:
    """Mean cross-entropy between the probabilities before and now, (b, c) each, at a temperature."""
    import torch

    wanted = torch.softmax(before / temperature, dim=1)
    return -(wanted * torch.log_softmax(logits / temperature, dim=1)).sum(dim=1).mean()
