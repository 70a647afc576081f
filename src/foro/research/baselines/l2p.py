"""L2P: a pool of prompts for a frozen backbone, from which each image chooses its own.

Source: Zifeng Wang, Zizhao Zhang, Chen-Yu Lee, Han Zhang, Ruoxi Sun, Xiaoqi Ren, Guolong Su, Vincent Perot,
Jennifer Dy, Tomas Pfister: Learning to Prompt for Continual Learning, CVPR 2022.

Per task: the frozen backbone's CLS of an image is its query; the N prompts whose keys have the smallest angle with
it are put before the image's tokens; the mean of what comes out at the prompts goes into a linear head with a row
for each class. The prompts, their keys and the head are trained on the cross-entropy among the classes of the task,
plus the distance (1 − cosine) between the query and the chosen keys, which pulls the keys to the queries.

Defaults: the paper's for CIFAR-100: a pool of 10 prompts of 5 tokens, N = 5, weight 0.5 of the pull, Adam with a
constant learning rate of 0.03 and batches of 128, 5 epochs, gradients clipped at 1 (the authors' code).

Departures: **every image chooses its prompts alone**, in training and in testing. The authors' code lets a batch
vote for prompts that all of its images then share, so that a prediction depends on which other images are tested
with it: a leak, since test batches are of one task. Prompts stand behind CLS and have no position, as everywhere in
FoRo. The optional penalty on prompts that were used often is left out, as in the paper's experiments on CIFAR-100.

Memory: the pool, which never grows, and one row of the head for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.errors import InputError
from foro.features.cache import FeatureCache
from foro.images.load import Images
from foro.research.baselines.baseline import Baseline
from foro.research.baselines.linear_head import cross_entropy, grown, new_head
from foro.research.baselines.trainable import batched, cls_features, from_arrays, sequence, to_arrays, trainable_vit
from foro.research.baselines.training import Optimiser, Schedule, TrainingSettings, train
from foro.research.methods.method import LearnCost, Settings, register
from foro.types import Arrays
from foro.util.settings import setting


@dataclass(frozen=True)
class L2pSettings(TrainingSettings):
    """Settings of learning to prompt."""

    epochs: int = setting(5, "passes over the images of a task", least=1)
    optimiser: Optimiser = setting("adam", "sgd (momentum 0.9), adam or adamw")
    learning_rate: float = setting(0.03, "learning rate of the first step", least=0)
    schedule: Schedule = setting("constant", "of the learning rate: cosine or constant")
    weight_decay: float = setting(0.0, "weight decay", least=0)
    pool_size: int = setting(10, "M, prompts of the pool", least=1)
    prompt_tokens: int = setting(5, "tokens of a prompt", least=1)
    chosen: int = setting(5, "N, prompts that an image chooses", least=1)
    pull_weight: float = setting(0.5, "λ, weight of the distance between a query and the keys it chose", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chosen > self.pool_size:
            raise InputError(f"{self.chosen} prompts cannot be chosen from a pool of {self.pool_size}")


@register("l2p", row="L2P")
class L2p(Baseline):
    """Learning to prompt: a pool of prompts for a frozen backbone, each image chooses its own."""

    settings_type = L2pSettings
    fast: ClassVar[Settings] = {
        "epochs": 3,
        "batch_size": 32,
        "learning_rate": 0.01,
        "schedule": "cosine",
        "crop_area": 0.5,
    }

    def __init__(self, backbone: Backbone, settings: Any, seed: int, cache: FeatureCache | None = None) -> None:
        import torch

        super().__init__(backbone, settings, seed, cache)
        self.model = trainable_vit(backbone, frozen=True)
        device = self.model.cls_token.device
        random = np.random.default_rng(seed)
        self.pool = torch.nn.ParameterDict(
            {
                "prompts": _uniform(random, settings.pool_size, settings.prompt_tokens, backbone.dim).to(device),
                "prompt_keys": _uniform(random, settings.pool_size, backbone.dim).to(device),
            }
        )
        self.head = new_head(backbone.dim, device)

    def learn_task(self, images: Images, targets: NDArray[np.intp]) -> LearnCost:
        import torch

        self.head = grown(self.head, len(self.labels))
        among = torch.from_numpy(np.unique(targets)).to(self.head.weight.device)

        def loss(pixels: Any, wanted: Any) -> Any:
            logits, similarity = self._forward(pixels)
            return cross_entropy(logits, wanted, among) + self.settings.pull_weight * (1 - similarity).sum(dim=1).mean()

        parameters = [*self.pool.parameters(), *self.head.parameters()]
        seed = (self.seed, self.tasks)
        cost = train(parameters, loss, images, targets, self.settings, seed, self.backbone.preprocessing, forwards=2)
        return LearnCost(cost.forward_passes, cost.backward_passes, cost.note)

    def _forward(self, pixels: Any) -> tuple[Any, Any]:
        """Scores (b, c), and the similarity (b, N) of each image's query with the keys that it chose."""
        import torch

        with torch.no_grad():
            query = torch.nn.functional.normalize(cls_features(self.model, pixels), dim=1)
        similarity = query @ torch.nn.functional.normalize(self.pool["prompt_keys"], dim=1).T
        best = similarity.topk(self.settings.chosen, dim=1)
        prompts = self.pool["prompts"][best.indices].flatten(1, 2)
        outputs = sequence(self.model, pixels, prompts)[:, 1 : 1 + prompts.shape[1]]
        return self.head(outputs.mean(dim=1)), best.values

    def scores(self, images: Images) -> NDArray[np.float32]:
        device = self.head.weight.device
        return batched(lambda pixels: self._forward(pixels)[0], images, self.backbone.preprocessing, device)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        return {**to_arrays(self.pool, "pool."), **to_arrays(self.head, "head.")}, {}

    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        self.head = grown(self.head, len(self.labels))
        from_arrays(self.pool, arrays, "pool.")
        from_arrays(self.head, arrays, "head.")


def _uniform(random: np.random.Generator, *shape: int) -> Any:
    import torch

    return torch.tensor(random.uniform(-1, 1, shape), dtype=torch.float32)
