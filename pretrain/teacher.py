"""The teacher: a ViT-Ti/16 whose outputs on fixed views of every image are computed once and kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import timm
import torch
from crops import cut, draw_boxes
from images import Images
from last_block import last_block_cls
from numpy.typing import NDArray
from rich.progress import track
from safetensors.torch import load_file
from timm.models.vision_transformer import VisionTransformer, checkpoint_filter_fn
from torch import Tensor

NAME = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
DIM = 192
WHOLE, PART = 0, 1
VIEW_AREAS = ((0.75, 1.0), (0.3, 0.75))
"""Range of the area of the crop, for the view that shows nearly the whole image and the one that shows a part."""

BATCH = 64


@dataclass(frozen=True)
class Targets:
    """What the teacher says about each view of each image.

    Attributes:
        boxes: the crop of each view (V, N, 4), in units of the image.
        cls: the class token after the final norm (V, N, 192).
        tokens: for each view the patch tokens that enter the last block (N, 192, G, G), G patches a side.
    """

    boxes: Tensor
    cls: NDArray[np.float16]
    tokens: list[NDArray[np.float16]]


def load_teacher(folder: Path, side: int) -> VisionTransformer:
    """Load the teacher for images of `side` pixels, its position embeddings resampled to the smaller grid."""
    model = timm.create_model("vit_tiny_patch16_224", img_size=side, num_classes=1000)
    model.load_state_dict(checkpoint_filter_fn(load_file(folder / "model.safetensors"), model))
    return model.eval().requires_grad_(False)


def view_boxes(n: int, seed: int) -> Tensor:
    """Draw the crop of every view of every image, a function of seed, view and image number alone."""
    return torch.stack(
        [
            draw_boxes(n, area, 4 / 3, torch.Generator().manual_seed(seed * 1000 + view))
            for view, area in enumerate(VIEW_AREAS)
        ]
    )


def load_targets(teacher: VisionTransformer, images: Images, work: Path, side: int, seed: int) -> Targets:
    """Open the teacher's outputs kept in `work`, computing first those that are missing.

    Each view is written in one pass that continues where an interrupted one stopped.
    """
    boxes = view_boxes(len(images), seed)
    views = [_view(teacher, images, boxes[v], work / f"view{v}-{side}px-seed{seed}") for v in range(len(boxes))]
    return Targets(boxes, np.stack([cls for cls, _ in views]), [tokens for _, tokens in views])


def _view(
    teacher: VisionTransformer, images: Images, boxes: Tensor, stem: Path
) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """Compute one view into `<stem>.cls.npy` and `<stem>.tokens.npy`; `<stem>.done` counts its rows."""
    side = teacher.patch_embed.img_size[0]
    grid = teacher.patch_embed.grid_size[0]
    counter = stem.with_name(stem.name + ".done")
    done = int(counter.read_text()) if counter.exists() else 0
    mode = "r+" if done else "w+"
    cls, tokens = (
        np.lib.format.open_memmap(stem.with_name(f"{stem.name}.{part}.npy"), mode, np.float16, shape)
        for part, shape in (("cls", (len(images), DIM)), ("tokens", (len(images), DIM, grid, grid)))
    )
    with torch.inference_mode():
        for start in track(range(done, len(images), BATCH), description=f"teacher {stem.name}"):
            rows = slice(start, min(start + BATCH, len(images)))
            pixels = torch.from_numpy(np.array(images.pixels[rows])).float() / 127.5 - 1
            x = cut(pixels, boxes[rows], side, mode="bicubic").clamp_(-1, 1)
            x = teacher.norm_pre(teacher.patch_drop(teacher._pos_embed(teacher.patch_embed(x))))
            for block in teacher.blocks[:-1]:
                x = block(x)
            tokens[rows] = x[:, 1:].transpose(1, 2).unflatten(2, (grid, grid)).numpy().astype(np.float16)
            cls[rows] = teacher.norm(last_block_cls(teacher.blocks[-1], x)).numpy().astype(np.float16)
            if start // BATCH % 20 == 19 or rows.stop == len(images):
                counter.write_text(str(rows.stop))
    return cls, tokens
