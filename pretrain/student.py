"""The student `nano`: a plain vision transformer for 64 px images, and its exported folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
from last_block import last_block_cls
from safetensors.torch import save
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

ARCHITECTURE = "vit_nano_patch8_64"
SIDE, PATCH, DIM, DEPTH, HEADS = 64, 8, 192, 6, 3
GRID = SIDE // PATCH


def build_student() -> VisionTransformer:
    """Build `nano` with fresh weights and no classifier."""
    return VisionTransformer(
        img_size=SIDE, patch_size=PATCH, embed_dim=DIM, depth=DEPTH, num_heads=HEADS, num_classes=0
    )


def student_forward(model: VisionTransformer, x: Tensor, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the class token after the final norm (B, 192) and the patch tokens that enter the last block.

    `keep` (B, K) holds the numbers of the patches to look at; without it all are looked at.
    """
    x = model._pos_embed(model.patch_embed(x))
    if keep is not None:
        patches = x[:, 1:].gather(1, keep.unsqueeze(2).expand(-1, -1, x.shape[2]))
        x = torch.cat((x[:, :1], patches), 1)
    for block in model.blocks[:-1]:
        x = block(x)
    return model.norm(last_block_cls(model.blocks[-1], x)), x[:, 1:]


def export(weights: dict[str, Tensor], folder: Path) -> None:
    """Write `weights` as float16 in timm's key names with a timm-style config, each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architecture": ARCHITECTURE,
        "num_classes": 0,
        "num_features": DIM,
        "pretrained_cfg": {
            "tag": "foro_tin200",
            "input_size": [3, SIDE, SIDE],
            "interpolation": "bicubic",
            "crop_pct": 1.0,
            "mean": [0.5, 0.5, 0.5],
            "std": [0.5, 0.5, 0.5],
        },
        "model_args": {
            "img_size": SIDE,
            "patch_size": PATCH,
            "embed_dim": DIM,
            "depth": DEPTH,
            "num_heads": HEADS,
        },
    }
    half = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in weights.items()}
    _write_atomically(folder / "model.safetensors", save(half, metadata={"format": "pt"}))
    _write_atomically(folder / "config.json", (json.dumps(config, indent=2) + "\n").encode())


def _write_atomically(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    os.replace(partial, path)
