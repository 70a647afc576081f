"""What student and teacher look at in a step: a function of the seed and the number of the step alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from augment import augment, coarsen
from crops import cut, draw_boxes
from images import Images
from recipe import Recipe
from torch import Tensor


@dataclass(frozen=True)
class Pictures:
    """The same crops of images at two sizes.

    Attributes:
        small: what the student looks at (B, 3, side, side) in [-1, 1].
        large: what the teacher looks at (B, 3, 2 side, 2 side).
        keep: numbers of the patches that both look at (B, K), or None for all of them.
    """

    small: Tensor
    large: Tensor
    keep: Tensor | None


def draw(images: Images, recipe: Recipe, step: int, drop: float) -> Pictures:
    """Draw the pictures of a step, of which the part `drop` of the patches is not looked at.

    Pictures are enlarged images of 64 pixels and so have no fine detail; collages of four images have it.
    """
    rng = torch.Generator().manual_seed(recipe.seed * 1_000_000 + step)
    collage = recipe.collage_every > 0 and step % recipe.collage_every == recipe.collage_every - 1
    count = recipe.batch * (4 if collage else 1)
    rows = np.random.default_rng((recipe.seed, step)).choice(len(images), count, replace=False)
    x = torch.from_numpy(images.pixels[np.sort(rows)][np.argsort(np.argsort(rows))]).float() / 255
    if collage:
        upper, lower = (torch.cat(pair, 3) for pair in (x.chunk(4)[:2], x.chunk(4)[2:]))
        x = torch.cat((upper, lower), 2)
    else:
        x = coarsen(x, rng)
    x = augment(x, recipe.colour, rng)
    boxes = draw_boxes(recipe.batch, (recipe.area, 1.0), 4 / 3, rng)
    flip = torch.rand(recipe.batch, generator=rng) < 0.5
    small, large = (cut(x, boxes, side, flip) * 2 - 1 for side in (recipe.side, recipe.teacher_side))
    keep, patches = None, recipe.grid**2
    if drop > 0:
        keep = torch.rand(recipe.batch, patches, generator=rng).argsort(1)[:, : round(patches * (1 - drop))]
    return Pictures(small, large, keep)
