"""DSG: generative replay by a diffusion model that is distilled from its own past.

Source: Jiayi He, Jiao Chen, Qianmiao Liu, Suyan Dai, Jianhua Tang, Dongpo Liu: Continual Learning with
Diffusion-based Generative Replay for Industrial Streaming Data, IEEE/CIC International Conference on Communications
in China, 2024 (arXiv:2406.15766): distillation-based self-guidance.

Per task: the generator makes images of all old classes; the classifier (all parameters of the vision transformer,
and a linear head) is trained on them and on the task's own images together; then the generator learns the task's
images, and on the generated ones to predict the noise that it predicted before, so that it forgets neither.

Defaults: the paper's are for signals of machines, not images. The classifier's training is that of FT here; the
generator is the one for 32 pixels of Ho, Jain, Abbeel: Denoising Diffusion Probabilistic Models, NeurIPS 2020 (1000
steps, learning rate 0.0002), with the cosine noise of Nichol, Dhariwal: Improved Denoising Diffusion Probabilistic
Models, ICML 2021, sampled in 50 steps as in Song, Meng, Ermon: Denoising Diffusion Implicit Models, ICLR 2021.

Departures: images instead of signals; a U-Net without attention but at its lowest resolution; the generator knows
the class it is asked for, so that generated images need no labels from the old classifier.

Option: ``pipeline`` names a pre-trained text-to-image model, which is asked for old classes by their names. Nothing
is then learned by the generator, but what it knows is not from the stream: such a run is no fair comparison with
the others.

Memory: the classifier and its head, and one generator of a fixed size, which grows by one embedding (four times its
first number of channels, in floats) for each class. While a task is learned also the old generator, and the
generated images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.features.cache import FeatureCache
from foro.images.load import Images
from foro.research.baselines.ft import Ft
from foro.research.baselines.generator import Generator, GeneratorSettings
from foro.research.baselines.linear_head import cross_entropy, grown
from foro.research.baselines.text_to_image import text_to_image
from foro.research.methods.method import LearnCost, Settings, register
from foro.types import Arrays
from foro.util.settings import setting


@dataclass(frozen=True)
class DsgSettings(GeneratorSettings):
    """Settings of generative replay."""

    replay_per_class: int | None = setting(
        None, "generated images of each old class; None: as many as a new class has on average", least=1
    )
    pipeline: str | None = setting(None, "a pre-trained text-to-image model to generate with, by name")
    pipeline_prompt: str = setting("a photo of a {}", "what the text-to-image model is asked for; {} is the label")


@register("dsg", row="DSG")
class Dsg(Ft):
    """Generative replay: a diffusion model makes images of old classes, which are learned again with the new ones."""

    settings_type = DsgSettings
    needs = ("torch", "timm", "diffusers")
    fast: ClassVar[Settings] = {
        **Ft.fast,
        "epochs": 2,
        "generator_epochs": 20,
        "generator_batch_size": 32,
        "generator_learning_rate": 2e-3,
        "generator_size": 16,
        "generator_channels": "16,32",
        "generator_layers": 1,
        "sampling_steps": 20,
        "replay_per_class": 10,
    }

    def __init__(self, backbone: Backbone, settings: Any, seed: int, cache: FeatureCache | None = None) -> None:
        super().__init__(backbone, settings, seed, cache)
        device = self.model.cls_token.device
        self.generator = None if settings.pipeline else Generator(settings, seed, device)

    def learn_task(self, images: Images, targets: NDArray[np.intp]) -> LearnCost:
        old = np.setdiff1d(np.arange(len(self.head.weight)), targets)
        replayed, their_targets = self._replay(old, len(targets) / len(np.unique(targets)))
        self.head = grown(self.head, len(self.labels))
        every = [*(images[position] for position in range(len(images))), *replayed]
        cost = self.fit(
            every,
            np.concatenate([targets, their_targets]),
            lambda pixels, wanted: cross_entropy(self.logits(pixels), wanted),
        )
        note = f"{len(replayed)} generated images"
        if self.generator is not None:
            self.generator.grow(len(self.labels))
            cost += self.generator.learn(images, targets, replayed, their_targets, (self.seed, self.tasks, 1))
        return LearnCost(cost.forward_passes, cost.backward_passes, "; ".join([note, *filter(None, [cost.note])]))

    def _replay(self, old: NDArray[np.intp], per_class: float) -> tuple[list[NDArray[np.uint8]], NDArray[np.intp]]:
        """Generated images of old classes, and their classes."""
        number = self.settings.replay_per_class or max(1, round(per_class))
        targets = np.repeat(old, number)
        seed = (self.seed, self.tasks, 2)
        if not len(targets):
            return [], targets
        if self.generator is not None:
            return self.generator.sample(targets, seed), targets
        labels = [self.labels[target] for target in targets]
        settings = self.settings
        images = text_to_image(settings.pipeline, labels, settings.pipeline_prompt, settings.sampling_steps, seed)
        return images, targets

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, values = super().state()
        return {**arrays, **(self.generator.arrays("generator.") if self.generator else {})}, values

    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        super().restore(arrays, values)
        if self.generator is not None:
            self.generator.restore(arrays, "generator.", len(self.labels))
