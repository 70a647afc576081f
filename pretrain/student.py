"""The student `nano`: a plain vision transformer for small images, and its exported folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from recipe import Recipe
from safetensors.torch import load_file, save
from timm.layers import resample_abs_pos_embed
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

TAG = "foro2_tin200"


def build_student(model_args: dict[str, Any]) -> VisionTransformer:
    """Build a student with fresh weights and no classifier."""
    return VisionTransformer(num_classes=0, **model_args)


def grow(student: VisionTransformer, folder: Path) -> None:
    """Start `student` with the weights in `folder`; the blocks that it has more are spread evenly and do nothing yet.

    A block does nothing while what it adds to its input is zero; its other weights stay as they were drawn.
    """
    smaller = load_exported(folder, student.patch_embed.img_size[0])
    rest = {name: t for name, t in smaller.state_dict().items() if not name.startswith("blocks.")}
    student.load_state_dict(rest, strict=False)
    depth, known = len(student.blocks), len(smaller.blocks)
    first = {round((number + 0.5) * depth / known - 0.5): number for number in range(known)}
    first = {depth - 1 if number == known - 1 else place: number for place, number in first.items()}
    for place, block in enumerate(student.blocks):
        if place in first:
            block.load_state_dict(smaller.blocks[first[place]].state_dict())
        else:
            for layer in (block.attn.proj, block.mlp.fc2):
                torch.nn.init.zeros_(layer.weight)


def export(weights: dict[str, Tensor], recipe: Recipe, folder: Path) -> None:
    """Write `weights` as float16 in timm's key names with a timm-style config, each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architecture": f"vit_nano_patch{recipe.patch}_{recipe.side}",
        "num_classes": 0,
        "num_features": recipe.dim,
        "pretrained_cfg": {
            "tag": TAG,
            "input_size": [3, recipe.side, recipe.side],
            "interpolation": "bicubic",
            "crop_pct": 1.0,
            "mean": [0.5, 0.5, 0.5],
            "std": [0.5, 0.5, 0.5],
        },
        "model_args": recipe.model_args,
    }
    half = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in weights.items()}
    write_atomically(folder / "model.safetensors", save(half, metadata={"format": "pt"}))
    write_atomically(folder / "config.json", (json.dumps(config, indent=2) + "\n").encode())


def load_exported(folder: Path, side: int | None = None) -> VisionTransformer:
    """Load a student written by `export`, for pictures of `side` pixels: the places of patches are interpolated."""
    shape = json.loads((folder / "config.json").read_text())["model_args"]
    model = build_student(shape | ({"img_size": side} if side else {}))
    weights = {name: t.float() for name, t in load_file(folder / "model.safetensors").items()}
    weights["pos_embed"] = resample_abs_pos_embed(
        weights["pos_embed"], list(model.patch_embed.grid_size), num_prefix_tokens=model.num_prefix_tokens
    )
    model.load_state_dict(weights)
    return model.eval().requires_grad_(False)


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` so that `path` holds either the old or the new bytes, never a part."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    os.replace(partial, path)
