"""timm's own models, saved as the hub would hold them, against both runtimes; and the shipped table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foro.backbones import load_backbone
from foro.backbones.timm_table import timm_vits

pytestmark = pytest.mark.torch

SMALL = {"embed_dim": 48, "depth": 3, "num_heads": 3}
# Small, but with the epsilon, activation, layer scale and registers that timm gives the name.
MODELS: dict[str, dict[str, Any]] = {
    "vit_tiny_patch16_224": SMALL,
    "deit3_small_patch16_224": SMALL,
    "vit_base_patch32_clip_224": SMALL,
    "vit_base_patch32_clip_quickgelu_224": SMALL,
    "vit_small_patch14_reg4_dinov2": {**SMALL, "img_size": 56},
    "eva_large_patch14_196": SMALL,
}


def save_as_hub(name: str, arguments: dict[str, Any], folder: Path) -> Any:
    import timm
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    model = timm.create_model(name, **arguments).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter + 0.2 * torch.randn_like(parameter))
    state = {key: value.contiguous() for key, value in model.state_dict().items()}
    save_file(state, folder / "model.safetensors")
    config = dict(model.pretrained_cfg)
    config["input_size"] = [3, *model.patch_embed.img_size]
    written = {"architecture": name, "model_args": {"num_heads": 3}, "pretrained_cfg": config}
    (folder / "config.json").write_text(json.dumps(written, default=str))
    return model


@pytest.mark.parametrize("name", MODELS)
def test_runtimes_agree_with_timm(name: str, tmp_path: Path) -> None:
    import torch

    model = save_as_hub(name, MODELS[name], tmp_path)
    size = model.patch_embed.img_size[0]
    pixels = np.random.default_rng(0).standard_normal((2, 3, size, size)).astype(np.float32)
    with torch.no_grad():
        _, expected = model.forward_intermediates(torch.from_numpy(pixels), return_prefix_tokens=True)
        last = model.forward_features(torch.from_numpy(pixels))[:, 0].numpy()
    layers = [prefix[:, 0].numpy() for _, prefix in expected]
    layers[-1] = last
    layers.append(expected[1][0].mean(dim=(2, 3)).numpy())  # of three blocks, the patches of the second
    for runtime in ("onnx", "torch"):
        backbone = load_backbone(tmp_path, runtime=runtime)  # type: ignore[arg-type]
        found = backbone.forward(backbone.embed(pixels))[0]
        assert found.shape[1] == len(layers)
        for index, layer in enumerate(layers):
            np.testing.assert_allclose(found[:, index], layer, atol=1e-4 * np.abs(layer).max())


def test_positions_are_resampled_as_timm_does(tmp_path: Path) -> None:
    import torch

    save_as_hub("vit_tiny_patch16_224", SMALL, tmp_path)
    import timm
    from safetensors.torch import load_file

    pixels = np.random.default_rng(0).standard_normal((2, 3, 112, 112)).astype(np.float32)
    model = timm.create_model("vit_tiny_patch16_224", dynamic_img_size=True, **SMALL).eval()
    model.load_state_dict(load_file(tmp_path / "model.safetensors"))
    with torch.no_grad():
        expected = model.forward_features(torch.from_numpy(pixels))[:, 0].numpy()
    backbone = load_backbone(tmp_path, image_size=112)
    found = backbone.forward(backbone.embed(pixels))[0, :, backbone.depth - 1]
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_the_table_is_timms() -> None:
    import timm
    import torch

    activations = {"GELU": "gelu", "QuickGELU": "quick_gelu", "GELUTanh": "gelu_tanh"}
    published = set(timm.list_pretrained())
    for name, row in timm_vits().items():
        with torch.device("meta"):
            model = timm.create_model(name, num_classes=0, depth=1)  # all of them take a minute
        block = model.blocks[0]
        assert row["heads"] == block.attn.num_heads, name
        assert row["patch_size"] == model.patch_embed.patch_size[0], name
        one, whole = (sum(each.numel() for each in part.parameters()) for part in (block, model))
        assert (row["parameters"] - whole) % one == 0, name  # more blocks like this one
        assert {timm.get_pretrained_cfg(f"{name}.{tag}").input_size[-1] for tag in row["tags"]} == {row["image_size"]}
        assert row.get("eps", 1e-6) == block.norm1.eps, name
        assert row.get("activation", "gelu") == activations[type(block.mlp.act).__name__], name
        assert model.has_class_token, name
        missing = {f"{name}.{tag}" for tag in row["tags"]} - published
        assert not missing
