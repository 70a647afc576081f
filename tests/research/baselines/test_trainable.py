"""A trainable vision transformer is the frozen backbone, until it is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foro.backbones import Backbone, load_backbone
from foro.backbones.architecture import Architecture
from foro.errors import BackboneError
from foro.research.baselines.trainable import cls_features, from_arrays, sequence, to_arrays, trainable_vit
from tests.backbones.reference import random_checkpoint, save_checkpoint, tiny_checkpoint

pytestmark = pytest.mark.torch

PLAIN = {"patch_size": 8, "dim": 24, "depth": 2, "heads": 3, "mlp_hidden": 48, "grid": 4}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "CLIP": {"pre_norm": True, "patch_bias": False, "activation": "quick_gelu"},
    "DINOv2 with registers": {"layer_scale": True, "register_tokens": 2, "no_embed_class": True},
    "no final norm": {"final_norm": False},
}


def difference(backbone: Backbone, prompts: int) -> float:
    """Largest difference between the last CLS of the backbone and of its trainable twin, relative to the largest."""
    import torch

    random = np.random.default_rng(0)
    size = backbone.image_size
    pixels = random.standard_normal((3, 3, size, size)).astype(np.float32)
    prompt = random.standard_normal((prompts, backbone.dim)).astype(np.float32) if prompts else None
    last, prompts = backbone.depth - 1, None if prompt is None else prompt[None]
    frozen = backbone.forward(backbone.embed(pixels), prompts)[0, :, last]
    given = None if prompt is None else torch.from_numpy(prompt)
    trainable = cls_features(trainable_vit(backbone), torch.from_numpy(pixels), given).detach().cpu().numpy()
    return float(np.abs(trainable - frozen).max() / np.abs(frozen).max())


@pytest.mark.parametrize("prompts", [0, 2])
@pytest.mark.parametrize("variant", VARIANTS)
def test_computes_what_the_frozen_backbone_computes(variant: str, prompts: int) -> None:
    checkpoint = random_checkpoint(Architecture(**{**PLAIN, **VARIANTS[variant]}), 32)
    assert difference(load_backbone(checkpoint, threads=1), prompts) < 1e-5
    assert difference(load_backbone(checkpoint, image_size=48, threads=1), prompts) < 1e-5


def test_nano_too() -> None:
    assert difference(load_backbone("nano", threads=1), 0) < 1e-5
    assert difference(load_backbone("nano", threads=1), 3) < 1e-5


def test_every_image_may_have_prompts_of_its_own() -> None:
    import torch

    backbone = load_backbone(tiny_checkpoint(), threads=1)
    model = trainable_vit(backbone, frozen=True)
    pixels, prompts = torch.randn(3, 3, 32, 32), torch.randn(3, 2, backbone.dim)
    together = sequence(model, pixels, prompts)
    assert together.shape == (3, 1 + 2 + 16, backbone.dim)
    for each in range(3):
        alone = sequence(model, pixels[each : each + 1], prompts[each])
        assert torch.allclose(alone[0], together[each], atol=1e-5)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_training_does_not_reach_the_frozen_backbone() -> None:
    import torch

    backbone = load_backbone(tiny_checkpoint(), threads=1)
    pixels = np.random.default_rng(0).standard_normal((2, 3, 32, 32)).astype(np.float32)
    before = backbone.forward(backbone.embed(pixels))
    model = trainable_vit(backbone)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert np.array_equal(backbone.forward(backbone.embed(pixels)), before)
    assert difference(backbone, 0) < 1e-5


def test_a_state_is_arrays_and_comes_back() -> None:
    import torch

    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    arrays = to_arrays(first, "head.")
    assert set(arrays) == {"head.weight", "head.bias"}
    from_arrays(second, {**arrays, "other": np.zeros(1)}, "head.")
    assert torch.equal(first.weight, second.weight)
    second.weight.data.zero_()
    assert arrays["head.weight"].any()  # a copy, not a view


def test_says_why_there_is_nothing_to_train(tmp_path: Any) -> None:
    class Foreign:
        name = "foreign"

    with pytest.raises(BackboneError, match=r"foreign has no weights to train from; load it by foro\.load_backbone"):
        trainable_vit(Foreign())  # type: ignore[arg-type]
    folder = save_checkpoint(tiny_checkpoint(), tmp_path / "tiny")
    backbone = load_backbone(folder, threads=1)
    assert difference(backbone, 0) < 1e-5  # read again from the folder
    save_checkpoint(tiny_checkpoint(seed=1), tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").replace(folder / "model.safetensors")
    with pytest.raises(BackboneError, match="have changed since"):
        trainable_vit(backbone)
