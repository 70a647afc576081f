"""The real ViT-Ti/16 on real images: ONNX Runtime, torch and timm say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from foro.backbones import load_backbone, load_checkpoint

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def images(shared_data: Path) -> list[Image.Image]:
    files = sorted((shared_data / "CUB_200_2011" / "images").rglob("*.jpg"))[::300][:2]
    if not files:
        pytest.skip("no CUB-200 images")
    return [Image.open(file).convert("RGB") for file in files]


def test_the_checkpoint_is_understood(vit_tiny: Path) -> None:
    checkpoint = load_checkpoint(vit_tiny)
    assert checkpoint.name == "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    architecture = checkpoint.architecture
    assert (architecture.dim, architecture.depth, architecture.heads, architecture.grid) == (192, 12, 3, 14)


def timm_layers(folder: Path, pixels: np.ndarray) -> list[np.ndarray]:
    import timm
    import torch
    from safetensors.torch import load_file

    model = timm.create_model("vit_tiny_patch16_224", dynamic_img_size=True).eval()
    model.load_state_dict(load_file(folder / "model.safetensors"))
    with torch.no_grad():
        final, layers = model.forward_intermediates(torch.from_numpy(pixels), return_prefix_tokens=True)
    rows = [prefix[:, 0].numpy() for _, prefix in layers]
    means = [layers[block][0].mean(dim=(2, 3)).numpy() for block in (8, 9, 10)]
    return [*rows[:-1], final[:, 0].numpy(), *means]


@pytest.mark.torch
@pytest.mark.parametrize("runtime", ["onnx", "torch"])
@pytest.mark.parametrize("size", [224, 112])
def test_runtimes_agree_with_timm(vit_tiny: Path, images: list[Image.Image], runtime: Any, size: int) -> None:
    backbone = load_backbone(vit_tiny, runtime=runtime, image_size=size)
    pixels = backbone.preprocessing.batch(images)
    found = backbone.forward(backbone.embed(pixels))[0]
    assert found.shape[1] == 12 + 3
    for index, layer in enumerate(timm_layers(vit_tiny, pixels)):
        np.testing.assert_allclose(found[:, index], layer, atol=2e-5 * np.abs(layer).max())


@pytest.mark.torch
def test_gains_are_the_same_in_every_runtime_and_in_the_weights(vit_tiny: Path, images: list[Image.Image]) -> None:
    onnx, torch = (load_backbone(vit_tiny, runtime=runtime, image_size=112) for runtime in ("onnx", "torch"))
    tokens = onnx.embed(onnx.preprocessing.batch(images))
    gains = (0.2 * np.random.default_rng(0).standard_normal((2, 12, 3))).astype(np.float32)
    found = onnx.forward(tokens, None, gains)
    folded = np.concatenate([onnx.with_gains(each).forward(tokens) for each in gains])
    assert np.abs(found - onnx.forward(tokens)).max() > 1
    for other in (torch.forward(tokens, None, gains), folded):
        for output in range(onnx.outputs):
            expected = found[:, :, output]
            np.testing.assert_allclose(other[:, :, output], expected, atol=5e-5 * np.abs(expected).max())


def test_int8_keeps_the_features(vit_tiny: Path, images: list[Image.Image]) -> None:
    exact, quantised = load_backbone(vit_tiny), load_backbone(vit_tiny, precision="int8")
    tokens = exact.embed(exact.preprocessing.batch(images))
    a, b = exact.forward(tokens)[0, :, 11:], quantised.forward(tokens)[0, :, 11:]
    cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    assert cosine.min() > 0.99
