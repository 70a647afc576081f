"""The methods that train with gradients do what their papers say: they learn, and some of them forget less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from foro.backbones import Backbone
from foro.errors import InputError
from foro.research.baselines.baseline import Baseline
from foro.research.baselines.dsg import Dsg
from foro.research.baselines.ft import Ft
from foro.research.baselines.l2p import L2p
from foro.research.baselines.lwf import Lwf
from tests.conftest import textures

pytestmark = pytest.mark.torch

SHORT = {
    "epochs": 20,
    "batch_size": 16,
    "optimiser": "adamw",
    "learning_rate": 2e-3,
    "crop_area": 1.0,
    "flip": False,
}
SMALL_GENERATOR = {
    "generator_epochs": 1,
    "generator_size": 8,
    "generator_channels": "8",
    "generator_layers": 1,
    "sampling_steps": 2,
}


def build(method: type[Baseline], backbone: Backbone, **more: Any) -> Any:
    own = {Dsg: SMALL_GENERATOR, L2p: {"learning_rate": 0.03}}.get(method, {})
    overrides = {**SHORT, **own, **more}
    return method.build(backbone, method.resolve(overrides), 0)


def task(number: int, per_class: int = 12, seed: int = 0) -> tuple[list[NDArray[np.uint8]], list[str]]:
    """Two of six textures."""
    images, labels = textures(per_class, 6, seed)
    chosen = [i for i, label in enumerate(labels) if int(label[-1]) // 2 == number]
    return [images[i] for i in chosen], [labels[i] for i in chosen]


def accuracy(method: Baseline, images: Any, labels: list[str]) -> float:
    return float(np.mean(np.array(method.predict(images)) == labels))


@pytest.mark.parametrize("method", [Ft, Lwf, L2p, Dsg])
def test_overfits_a_small_task(method: type[Baseline], tiny_backbone: Backbone) -> None:
    images, labels = textures(8)
    learner = build(method, tiny_backbone)
    cost = learner.learn(images, labels)
    assert accuracy(learner, images, labels) > 0.95
    per_image = 2 if method is L2p else 1  # the query is a pass of its own
    assert (cost.forward_passes, cost.backward_passes) == (per_image * 20 * 32, 20 * 32)


def stripes(number: int, seed: int, tinted: bool) -> tuple[list[NDArray[np.uint8]], list[str], list[str]]:
    """Noisy stripes, the names of their directions, and of their tints."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:32, :32]
    images, directions, tints = [], [], []
    for each in range(number):
        direction, tint = each % 4, each // 4 % 3
        angle = np.pi * direction / 4
        wave = np.sin((rows * np.sin(angle) + columns * np.cos(angle)) * 2 * np.pi / 6 + random.uniform(0, 2 * np.pi))
        image = 127 + 50 * wave[:, :, None] + random.normal(0, 30, (32, 32, 3))
        image[:, :, tint] += 40 * tinted
        images.append(np.uint8(np.clip(image, 0, 255)))
        directions.append(f"direction {direction}")
        tints.append(f"tint {tint}")
    return images, directions, tints


def test_lwf_forgets_less_than_ft(tiny_backbone: Backbone) -> None:
    """Directions are learned first, then tints, which need no directions: fine-tuning lets go of them."""
    grey, directions, _ = stripes(64, 0, tinted=False)
    coloured, _, tints = stripes(64, 1, tinted=True)
    unseen, truth, _ = stripes(48, 2, tinted=False)
    after = {}
    for method in (Ft, Lwf):
        learner = build(method, tiny_backbone, **({"warmup_epochs": 0} if method is Lwf else {}))
        learner.learn(grey, directions)
        assert accuracy(learner, unseen, truth) > 0.8
        learner.learn(coloured, tints)
        assert accuracy(learner, coloured, tints) > 0.6
        after[method] = accuracy(learner, unseen, truth)
    assert after[Lwf] > after[Ft] + 0.3


def test_lwf_without_distillation_is_ft(tiny_backbone: Backbone) -> None:
    pair = [
        build(Ft, tiny_backbone, epochs=3),
        build(Lwf, tiny_backbone, epochs=3, distillation_weight=0.0, warmup_epochs=0),
    ]
    for number in (0, 1):
        costs = [learner.learn(*task(number)) for learner in pair]
    assert np.array_equal(pair[0].scores(task(0)[0]), pair[1].scores(task(0)[0]))
    assert costs[1].forward_passes == 2 * costs[0].forward_passes


def test_the_warm_up_trains_the_new_rows_of_the_head_only(tiny_backbone: Backbone) -> None:
    learner = build(Lwf, tiny_backbone, epochs=1, learning_rate=1e-2, weight_decay=0.0, warmup_epochs=3)
    learner.learn(*task(0))
    before, old = learner.model.cls_token.detach().clone(), learner.head.weight.detach().clone()
    learner.settings = type(learner.settings)(**{**vars(learner.settings), "learning_rate": 0.0})
    learner.learn(*task(1))
    assert (learner.head.weight[2:] == 0).all()  # no learning rate, no change
    learner.settings = type(learner.settings)(**{**vars(learner.settings), "learning_rate": 1e-2})
    images, labels = task(2)
    learner.labels += sorted(set(labels))
    from foro.research.baselines.linear_head import grown

    learner.head = grown(learner.head, 6)
    targets = np.array([learner.labels.index(label) for label in labels])
    cost = learner._warm_up(images, targets, learner.among(targets))
    assert cost.backward_passes == 0
    assert (learner.model.cls_token == before).all()
    assert (learner.head.weight[:2] == old).all()
    assert learner.head.weight[4:].abs().min() > 0


def test_l2p_leaves_the_backbone_alone_and_pulls_keys_to_queries(tiny_backbone: Backbone) -> None:
    import torch

    learner = build(L2p, tiny_backbone, pool_size=6, chosen=2)
    weights = torch.nn.utils.parameters_to_vector(learner.model.parameters()).clone()
    images, labels = textures(8)
    pixels = torch.from_numpy(tiny_backbone.preprocessing.batch([_picture(image) for image in images]))
    learner.labels = sorted(set(labels))
    before = learner._forward(pixels)[1].mean()
    learner.learn(images, labels)
    assert torch.equal(torch.nn.utils.parameters_to_vector(learner.model.parameters()), weights)
    assert learner._forward(pixels)[1].mean() > before + 0.1
    assert learner.head.weight.shape == (4, tiny_backbone.dim)


def test_l2p_chooses_for_each_image_alone(tiny_backbone: Backbone) -> None:
    """The leak of a batch's vote: what an image is taken for would depend on its neighbours."""
    learner = build(L2p, tiny_backbone, pool_size=8, chosen=2, epochs=2)
    images, labels = textures(8)
    learner.learn(images, labels)
    odd, even = [images[i] for i in range(1, 32, 2)], [images[i] for i in range(0, 32, 2)]
    alone, mixed = learner.scores(odd), learner.scores([*odd, *even])[: len(odd)]
    assert np.allclose(alone, mixed, atol=1e-5)


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="12 prompts cannot be chosen from a pool of 10"):
        L2p.resolve({"chosen": 12})
    with pytest.raises(InputError, match=r"generator_channels must be multiples of 8.*not '12,20'"):
        Dsg.resolve({"generator_channels": "12,20"})
    with pytest.raises(InputError, match="generator_size = 10 cannot be halved 3 times"):
        Dsg.resolve({"generator_size": 10})
    with pytest.raises(InputError, match="sampling_steps can be at most 1000, not 2000"):
        Dsg.resolve({"sampling_steps": 2000})
    with pytest.raises(InputError, match="lwf has no setting 'pool_size'"):
        Lwf.resolve({"pool_size": 3})


def _picture(image: NDArray[np.uint8]) -> Any:
    from PIL import Image

    return Image.fromarray(image)
