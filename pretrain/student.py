"""The student `nano`: a plain vision transformer for small images, and its exported folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from layers import embed
from pictures import Pictures
from recipe import PATCH, Recipe
from safetensors.torch import load_file, save
from timm.layers import resample_abs_pos_embed
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

TAG = "foro2_tin200"
SHAPE = {"patch_size": PATCH, "embed_dim": 192, "depth": 12, "num_heads": 3}
"""As many blocks, of the same width, as the teacher has: each learns from one of the teacher's."""


def build_student(side: int, shape: dict[str, Any] = SHAPE) -> VisionTransformer:
    """Build a student for pictures of `side` pixels with fresh weights and no classifier."""
    return VisionTransformer(num_classes=0, **{**shape, "img_size": side})


def fit_embedding(student: VisionTransformer, teacher: VisionTransformer, pictures: Iterable[Pictures]) -> None:
    """Set the student's embedding of patches to the least squares fit of the teacher's, over all patches shown."""
    weights = student.patch_embed.proj.weight
    inputs, aims = [], []
    with torch.no_grad():
        for shown in pictures:
            patches = F.unfold(shown.small, PATCH, stride=PATCH).transpose(1, 2)
            wanted = embed(teacher, shown.large)
            inputs.append(patches)
            aims.append(wanted)
        x, y = torch.cat(inputs).double(), torch.cat(aims).double()
        x_mean, y_mean = x.mean(0), y.mean(0)
        x_rest, y_rest = (x - x_mean).flatten(0, 1), (y - y_mean)[:, 1:].flatten(0, 1)
        gram = x_rest.T @ x_rest
        gram += 1e-6 * gram.diagonal().mean() * torch.eye(len(gram))
        fitted = torch.linalg.solve(gram, x_rest.T @ y_rest)
        weights.copy_(fitted.T.reshape(weights.shape))
        student.patch_embed.proj.bias.zero_()
        student.cls_token.zero_()
        student.pos_embed.copy_(torch.cat((y_mean[:1], y_mean[1:] - x_mean @ fitted)))


def export(weights: dict[str, Tensor], recipe: Recipe, folder: Path) -> None:
    """Write `weights` as float16 in timm's key names with a timm-style config, each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architecture": f"vit_nano_patch{PATCH}_{recipe.side}",
        "num_classes": 0,
        "num_features": SHAPE["embed_dim"],
        "pretrained_cfg": {
            "tag": TAG,
            "input_size": [3, recipe.side, recipe.side],
            "interpolation": "bicubic",
            "crop_pct": 1.0,
            "mean": [0.5, 0.5, 0.5],
            "std": [0.5, 0.5, 0.5],
        },
        "model_args": {"img_size": recipe.side, **SHAPE},
    }
    half = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in weights.items()}
    write_atomically(folder / "model.safetensors", save(half, metadata={"format": "pt"}))
    write_atomically(folder / "config.json", (json.dumps(config, indent=2) + "\n").encode())


def load_exported(folder: Path, side: int | None = None) -> VisionTransformer:
    """Load a student written by `export`, for pictures of `side` pixels: the places of patches are interpolated."""
    shape = json.loads((folder / "config.json").read_text())["model_args"]
    model = build_student(side or shape["img_size"], shape)
    weights = {name: t.float() for name, t in load_file(folder / "model.safetensors").items()}
    weights["pos_embed"] = resample_abs_pos_embed(
        weights["pos_embed"], list(model.patch_embed.grid_size), num_prefix_tokens=model.num_prefix_tokens
    )
    model.load_state_dict(weights)
    return model.eval()


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` so that `path` holds either the old or the new bytes, never a part."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    os.replace(partial, path)
