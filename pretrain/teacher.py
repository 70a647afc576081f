"""The teacher: a ViT-Ti/16 of timm."""

from __future__ import annotations

from pathlib import Path

import timm
from safetensors.torch import load_file
from timm.models.vision_transformer import VisionTransformer, checkpoint_filter_fn

NAME = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"


def load_teacher(folder: Path, side: int) -> VisionTransformer:
    """Load the teacher for pictures of `side` pixels, its position embeddings resampled to the smaller grid."""
    model = timm.create_model("vit_tiny_patch16_224", img_size=side, num_classes=1000)
    model.load_state_dict(checkpoint_filter_fn(load_file(folder / "model.safetensors"), model))
    return model.eval().requires_grad_(False)
