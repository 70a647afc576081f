"""The teacher: a ViT-Ti/16 that looks at each view of each image once; what it says is kept on disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import timm
import torch
import torch.nn.functional as F
from crops import cut, draw_boxes
from forward_pass import Outputs, forward
from images import Images
from numpy.typing import NDArray
from recipe import Recipe
from safetensors.torch import load_file
from timm.models.vision_transformer import VisionTransformer, checkpoint_filter_fn
from torch import Tensor

NAME = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
DIM = 192
DEPTHS = (4, 8)
"""Blocks of the teacher's twelve, at a third and at two thirds, whose class and mean tokens are kept."""

GRID = 12
"""Cells a side of the map of patch tokens that is kept, whatever the teacher's own grid."""

VIEW_AREAS = ((0.75, 1.0), (0.3, 0.75))
"""Range of the area of the crop, for views that show nearly the whole image and for those that show a part."""

BATCH = 64


def load_teacher(folder: Path, side: int) -> VisionTransformer:
    """Load the teacher for images of `side` pixels, its position embeddings resampled to the smaller grid."""
    model = timm.create_model("vit_tiny_patch16_224", img_size=side, num_classes=1000)
    model.load_state_dict(checkpoint_filter_fn(load_file(folder / "model.safetensors"), model))
    return model.eval().requires_grad_(False)


@dataclass(frozen=True)
class View:
    """One view of every image: its crops (N, 4) in units of the image, and what is known about them so far.

    `known` (N,) says which rows of the files `cls` (N, 192), `tokens` (N, 192, 12, 12) and `depths` (N, 2, 2, 192)
    have been computed.
    """

    stem: Path
    boxes: Tensor
    known: NDArray[np.bool_]
    cls: NDArray[np.float16]
    tokens: NDArray[np.float16]
    depths: NDArray[np.float16]


class Targets:
    """The teacher's outputs, computed when they are first asked for.

    A run can so start at once, and pays only for the views it comes to see. `seconds` counts the processor time
    that this has taken.
    """

    def __init__(
        self, teacher: VisionTransformer, images: Images, work: Path, recipe: Recipe, views: Sequence[int]
    ) -> None:
        self._teacher, self._images = teacher, images
        self.seconds, self._unsaved = 0.0, False
        self.views = {number: self._open(work, recipe, number) for number in views}

    def _open(self, work: Path, recipe: Recipe, number: int) -> View:
        n = len(self._images)
        rng = torch.Generator().manual_seed(recipe.seed * 1000 + number)
        boxes = draw_boxes(n, VIEW_AREAS[number % 2], 4 / 3, rng)
        stem = work / f"view{number}-{recipe.teacher_side}px-seed{recipe.seed}"
        known_file = Path(f"{stem}.known.npy")
        known = np.load(known_file) if known_file.exists() else np.zeros(n, dtype=np.bool_)
        shapes = {
            "cls": (n, DIM),
            "tokens": (n, DIM, GRID, GRID),
            "depths": (n, len(DEPTHS), 2, DIM),
        }
        mode = "r+" if known_file.exists() else "w+"
        files = {
            part: np.lib.format.open_memmap(f"{stem}.{part}.npy", mode, np.float16, shape)
            for part, shape in shapes.items()
        }
        return View(stem, boxes, known, **files)

    def look(self, number: int, rows: NDArray[np.int64]) -> Outputs:
        """Return what the teacher says about view `number` of the images `rows`, tokens as (B, 192, 12, 12)."""
        view = self.views[number]
        missing = rows[~view.known[rows]]
        for start in range(0, len(missing), BATCH):
            self._compute(view, missing[start : start + BATCH])
        cls, tokens, depths = (torch.from_numpy(kept[rows]).float() for kept in (view.cls, view.tokens, view.depths))
        return Outputs(cls, tokens, depths)

    def _compute(self, view: View, rows: NDArray[np.int64]) -> None:
        began = time.process_time()
        side = self._teacher.patch_embed.img_size[0]
        with torch.inference_mode():
            pixels = torch.from_numpy(self._images.pixels[rows]).float() / 127.5 - 1
            x = cut(pixels, view.boxes[torch.from_numpy(rows)], side, mode="bicubic").clamp_(-1, 1)
            said = forward(self._teacher, x, depths=DEPTHS)
            own = said.tokens.transpose(1, 2).unflatten(2, self._teacher.patch_embed.grid_size)
            tokens = F.adaptive_avg_pool2d(own, GRID)
        view.cls[rows] = said.cls.numpy()
        view.tokens[rows] = tokens.numpy()
        view.depths[rows] = said.depths.numpy()
        view.known[rows] = True
        self._unsaved = True
        self.seconds += time.process_time() - began

    def save(self) -> None:
        """Make what was computed durable: rows count as known only once their numbers are on the disk."""
        if not self._unsaved:
            return
        self._unsaved = False
        for view in self.views.values():
            for kept in (view.cls, view.tokens, view.depths):
                kept.flush()
            partial = Path(f"{view.stem}.known.partial.npy")
            np.save(partial, view.known)
            partial.replace(f"{view.stem}.known.npy")
