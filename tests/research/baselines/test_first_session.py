"""First-session adaptation: it starts from the frozen backbone, fits the first task, and is frozen from then on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from foro.backbones import Backbone
from foro.errors import BackboneError, InputError, ModelFileError
from foro.features.cache import FeatureCache
from foro.features.extractor import Extractor
from foro.research.baselines.adapted_backbone import AdaptedBackbone
from foro.research.baselines.first_session import FirstSessionSettings, adapt
from foro.research.baselines.tuning import Adaptation
from foro.research.protocol.method_catalog import find_method
from tests.conftest import textures
from tests.research.baselines.small import QUICK, build, first_task

METHODS = ("adam", "layup", "ranpac")
ADAPTATIONS = [kind for kind in get_args(Adaptation) if kind != "none"]
IDENTITIES = {"adapter", "ssf", "full"}
"""Those that compute what the frozen backbone computes before they are trained; prompts are tokens more."""

pytestmark = pytest.mark.torch


def layers(backbone: Backbone) -> NDArray[np.float32]:
    return np.concatenate(list(Extractor(backbone).layers(first_task()[0])))


@pytest.mark.parametrize("adaptation", ADAPTATIONS)
def test_untrained_it_is_the_frozen_backbone(tiny_backbone: Backbone, adaptation: str) -> None:
    adapted = AdaptedBackbone(tiny_backbone, adaptation, 8, 3, seed=0)
    same = np.allclose(layers(adapted), layers(tiny_backbone), atol=1e-4)
    assert same == (adaptation in IDENTITIES)
    assert adapted.fingerprint == tiny_backbone.fingerprint
    trained = sum(array.size for array in adapted.arrays().values())
    everything = sum(each.numel() for each in adapted.model.parameters())
    assert trained == everything if adaptation == "full" else 0 < trained < everything / 3


@pytest.mark.parametrize("adaptation", ADAPTATIONS)
def test_fits_a_small_first_task(tiny_backbone: Backbone, adaptation: str) -> None:
    import torch

    images, targets = first_task()
    settings = FirstSessionSettings(**{**QUICK, "adaptation": adaptation})
    before = layers(tiny_backbone)
    session = adapt(tiny_backbone, images, targets, settings, seed=0)
    scores = session.head(torch.from_numpy(layers(session.backbone)[:, tiny_backbone.depth - 1]))
    assert np.mean(scores.argmax(dim=1).cpu().numpy() == targets) > 0.95
    assert session.cost.losses[-1] < session.cost.losses[0] / 2
    assert session.cost.forward_passes == session.cost.backward_passes == QUICK["epochs"] * len(images)
    assert session.backbone.fingerprint != tiny_backbone.fingerprint
    assert not any(each.requires_grad for each in session.backbone.model.parameters())
    assert np.array_equal(layers(tiny_backbone), before)  # the frozen one is another


def test_a_seed_repeats_whatever_torch_was_used_for_before(tiny_backbone: Backbone) -> None:
    import torch

    images, targets = first_task()
    settings = FirstSessionSettings(**{**QUICK, "epochs": 2})
    one, same, other = (
        adapt(tiny_backbone, images, targets, settings, seed).backbone.fingerprint
        for seed in (3, 3, 4)
        if torch.rand(1) is not None
    )
    assert one == same != other


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("adaptation", ["adapter", "vpt_deep"])
def test_goes_on_after_saving_and_loading(tiny_backbone: Backbone, name: str, adaptation: str, tmp_path: Path) -> None:
    images, labels = textures(8)
    quick = {**QUICK, "epochs": 2, **({"projection_dim": 64} if name == "ranpac" else {})}
    method = build(name, tiny_backbone, adaptation=adaptation, **quick)
    cost = method.learn(images, labels)
    sources = 2 if name == "adam" else 1
    assert cost.forward_passes == (2 + sources) * len(images)
    assert cost.backward_passes == 2 * len(images)
    method.save(tmp_path / "model")
    restored = find_method(name).load(tmp_path / "model", tiny_backbone)
    unseen, _ = textures(4, classes=6, seed=1)
    assert np.array_equal(restored.scores(unseen), method.scores(unseen))  # type: ignore[attr-defined]
    more, names = textures(4, classes=6, seed=2)
    for each in (method, restored):
        cost = each.learn(more, names)
        assert cost.backward_passes == 0  # only the first task is trained on
        assert cost.forward_passes == sources * len(more)
    assert restored.predict(unseen) == method.predict(unseen)
    alone = np.concatenate([method.scores([image]) for image in unseen])
    assert np.allclose(alone, method.scores(unseen), rtol=1e-3, atol=1e-4)


def test_a_failed_first_task_leaves_nothing_behind(tiny_backbone: Backbone, tmp_path: Path) -> None:
    images, labels = textures(4)
    method = build("adam", tiny_backbone, adaptation="ssf", **{**QUICK, "epochs": 1})
    with pytest.raises(InputError, match="there is no image"):
        method.learn([*images, tmp_path / "gone.png"], [*labels, "new"])
    assert (method.labels, method.tasks, method.adapted) == ([], 0, None)
    method.learn(images, labels)
    before = method.scores(images)
    with pytest.raises(InputError, match="there is no image"):
        method.learn([*images, tmp_path / "gone.png"], [*labels, "new"])
    assert np.array_equal(method.scores(images), before)


def test_a_damaged_file_and_another_backbone_are_named(tiny_backbone: Backbone, tmp_path: Path) -> None:
    images, labels = textures(4)
    method = build("layup", tiny_backbone, adaptation="adapter", **{**QUICK, "epochs": 1})
    method.learn(images, labels)
    state = method.state
    arrays, values = state()
    del arrays["adapted.blocks.0.adapter.0.weight"]
    method.state = lambda: (arrays, values)  # type: ignore[method-assign]
    method.save(tmp_path / "damaged")
    with pytest.raises(ModelFileError, match="lacks a part of its model"):
        find_method("layup").load(tmp_path / "damaged", tiny_backbone)


def test_the_cache_changes_nothing(tiny_backbone: Backbone, tmp_path: Path) -> None:
    from foro.images.task_images import TaskImages
    from foro.research.datasets.registry import load_dataset

    digits = load_dataset("digits").subset(4, 2)
    task = TaskImages(digits.train, np.arange(20))
    asked = TaskImages(digits.test, np.arange(10))
    quick: dict[str, Any] = {**QUICK, "epochs": 1, "adaptation": "adapter"}
    plain = build("adam", tiny_backbone, **quick)
    cache = FeatureCache(tmp_path)
    cached = build("adam", tiny_backbone, cache=cache, **quick)
    assert cached.learn(task, task.labels) == plain.learn(task, task.labels)
    for _ in range(2):
        assert np.array_equal(cached.scores(asked), plain.scores(asked))
    assert cache.served == 2 * len(asked)  # the second time, of the frozen and of the adapted backbone


def test_a_backbone_without_weights_cannot_be_adapted() -> None:
    class Other:
        name = "other"

    with pytest.raises(BackboneError, match="other has no weights to adapt"):
        AdaptedBackbone(Other(), "ssf", 8, 3, 0)  # type: ignore[arg-type]
