"""Reading checkpoints: what is understood, what is refused and how that is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from foro.backbones import Architecture, Checkpoint, load_checkpoint, read_checkpoint
from foro.errors import BackboneError
from tests.backbones.reference import random_checkpoint, save_checkpoint, tiny_checkpoint

Tensors = dict[str, np.ndarray]


def write_bfloat16(tensors: Tensors, path: Path) -> None:
    header, data = {}, b""
    for name, array in tensors.items():
        raw = (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": array.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_a_folder_and_its_file_are_the_same(tmp_path: Path) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path / "model")
    for path in (folder, folder / "model.safetensors"):
        found = read_checkpoint(path)
        assert found.fingerprint == tiny_checkpoint().fingerprint
        assert found.name == "vit_random.test"


def test_storage_precision_does_not_change_the_fingerprint(tmp_path: Path) -> None:
    # Values that bfloat16, float16 and float32 all hold exactly.
    rounded = {name: np.rint(array * 8) / 8 for name, array in tiny_checkpoint().tensors.items()}
    reference = Checkpoint.from_tensors(rounded, tiny_checkpoint().config)
    folder = save_checkpoint(reference, tmp_path)
    prints = [read_checkpoint(folder).fingerprint]
    save_file({name: array.astype(np.float16) for name, array in rounded.items()}, folder / "model.safetensors")
    prints.append(read_checkpoint(folder).fingerprint)
    write_bfloat16(rounded, folder / "model.safetensors")
    prints.append(read_checkpoint(folder).fingerprint)
    assert set(prints) == {reference.fingerprint}


def test_the_head_is_not_part_of_the_fingerprint() -> None:
    base = tiny_checkpoint()
    head = {"head.weight": np.ones((5, 32), np.float32), "head.bias": np.ones(5, np.float32)}
    assert Checkpoint.from_tensors({**base.tensors, **head}, base.config).fingerprint == base.fingerprint


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=r"no model\.safetensors in"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize("cut", [0, 4, 20, 5000])
def test_truncated_files(tmp_path: Path, cut: int) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path)
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(BackboneError, match=r"truncated|cannot be read"):
        read_checkpoint(folder)


def test_foreign_files(tmp_path: Path) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path)
    (folder / "model.safetensors").write_bytes(b"PK\x03\x04" * 100)
    with pytest.raises(BackboneError, match="not a safetensors file"):
        read_checkpoint(folder)
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(BackboneError, match="pickle"):
        load_checkpoint(folder / "pytorch_model.bin")


def test_a_missing_or_broken_config(tmp_path: Path) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path)
    (folder / "config.json").write_text("{")
    with pytest.raises(BackboneError, match=r"config\.json cannot be read as JSON"):
        read_checkpoint(folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(BackboneError, match="architecture"):
        read_checkpoint(folder)
    (folder / "config.json").unlink()
    with pytest.raises(BackboneError, match=r"no config\.json beside the weights"):
        read_checkpoint(folder)


def drop(*names: str) -> Callable[[Tensors], None]:
    return lambda tensors: [tensors.pop(name) for name in names] and None


def put(name: str, *shape: int) -> Callable[[Tensors], None]:
    return lambda tensors: tensors.update({name: np.zeros(shape, np.float32)})


def only(*names: str) -> Callable[[Tensors], None]:
    def change(tensors: Tensors) -> None:
        tensors.clear()
        tensors.update({name: np.zeros((4, 4), np.float32) for name in names})

    return change


REFUSED = {
    "no CLS token": (drop("cls_token"), "no CLS token"),
    "distilled DeiT": (put("dist_token", 1, 1, 32), "distilled DeiT"),
    "ResNet": (only("conv1.weight", "layer1.0.conv1.weight"), "not a plain vision transformer"),
    "Swin": (only("patch_embed.proj.weight", "layers.0.blocks.0.attn.qkv.weight"), "not a plain vision"),
    "hybrid": (put("patch_embed.backbone.stem.conv.weight", 1), "hybrid"),
    "SwiGLU": (put("blocks.0.mlp.w12.weight", 4, 4), "SwiGLU"),
    "gated": (put("blocks.0.mlp.fc1.weight", 128, 32), "SwiGLU"),
    "rotary": (put("rope.periods", 4), "rotary"),
    "BEiT": (put("blocks.0.attn.relative_position_bias_table", 4, 2), "relative"),
    "no positions": (drop("pos_embed"), "no absolute position embedding"),
    "not square": (put("pos_embed", 1, 20, 32), "square grid"),
    "one missing": (drop("blocks.1.norm2.bias"), r"incomplete: blocks\.1\.norm2\.bias is missing"),
    "many missing": (
        drop(*(f"blocks.2.{name}.weight" for name in ("norm1", "norm2", "attn.qkv", "attn.proj", "mlp.fc1"))),
        "and 2 more are missing",
    ),
    "scale norm": (put("blocks.0.attn.norm.weight", 32), r"blocks\.0\.attn\.norm\.weight is unknown"),
    "wrong shape": (put("blocks.1.mlp.fc1.bias", 63), r"shape \(63,\) where \(64,\) was expected"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_reason(case: str, tmp_path: Path) -> None:
    change, message = REFUSED[case]
    tensors = dict(tiny_checkpoint().tensors)
    change(tensors)
    with pytest.raises(BackboneError, match=message) as error:
        Checkpoint.from_tensors(tensors, tiny_checkpoint().config)
    assert "\n" not in str(error.value)


def infer(config: dict[str, Any], dim: int = 64, heads: int = 1) -> Architecture:
    source = Architecture(patch_size=8, dim=dim, depth=1, heads=heads, mlp_hidden=8, grid=2)
    tensors = random_checkpoint(source, 16).tensors
    return Checkpoint.from_tensors(tensors, config).architecture


def test_heads_epsilon_and_activation() -> None:
    plain = infer({"architecture": "mine"}, dim=128)
    assert (plain.heads, plain.eps, plain.activation) == (2, 1e-6, "gelu")
    known = infer({"architecture": "vit_base_patch32_clip_quickgelu_224"}, dim=48, heads=12)
    assert (known.heads, known.eps, known.activation) == (12, 1e-5, "quick_gelu")
    said = infer({"architecture": "mine", "model_args": {"num_heads": 4, "act_layer": "gelu_tanh"}})
    assert (said.heads, said.activation) == (4, "gelu_tanh")


def test_heads_that_cannot_be_known() -> None:
    with pytest.raises(BackboneError, match=r'add "model_args": \{"num_heads": ...\}'):
        infer({"architecture": "mine"}, dim=48)
    with pytest.raises(BackboneError, match="cannot be divided into 5"):
        infer({"architecture": "mine", "model_args": {"num_heads": 5}})
    with pytest.raises(BackboneError, match="activation"):
        infer({"architecture": "mine", "model_args": {"act_layer": "relu"}})


def test_ambiguous_positions_follow_the_image_size() -> None:
    # Nine positions: a grid of 3 without the prefix, or a grid of 2 with CLS and four registers.
    for grid, no_embed_class in ((3, True), (2, False)):
        source = Architecture(8, 64, 1, 1, 8, grid, register_tokens=4, no_embed_class=no_embed_class)
        assert random_checkpoint(source, 8 * grid).architecture == source
