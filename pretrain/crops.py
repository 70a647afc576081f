"""Crop boxes: how they are drawn, and how a batch of images or token maps is cut by them.

A box is (left, top, right, bottom) in units of the side of what it is cut from, so 0 0 1 1 is everything.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def draw_boxes(n: int, area: tuple[float, float], ratio: float, rng: torch.Generator) -> Tensor:
    """Draw `n` boxes (n, 4) with an area in `area` and an aspect ratio in [1/ratio, ratio]."""
    drawn_area = torch.empty(n).uniform_(*area, generator=rng)
    log_ratio = torch.empty(n).uniform_(-math.log(ratio), math.log(ratio), generator=rng)
    sides = torch.stack((drawn_area.sqrt() * (log_ratio / 2).exp(), drawn_area.sqrt() * (-log_ratio / 2).exp()), 1)
    sides = sides.clamp(max=1.0)
    start = torch.rand(n, 2, generator=rng) * (1 - sides)
    return torch.cat((start, start + sides), 1)


def inside(outer: Tensor, inner: Tensor) -> Tensor:
    """Return, in the units of the image, the boxes `inner` that are given in units of the boxes `outer`."""
    origin, size = outer[:, :2], outer[:, 2:] - outer[:, :2]
    return torch.cat((origin + inner[:, :2] * size, origin + inner[:, 2:] * size), 1)


def cut(maps: Tensor, boxes: Tensor, side: int, flip: Tensor | None = None, mode: str = "bilinear") -> Tensor:
    """Cut `maps` (B, C, H, W) by `boxes` (B, 4) to (B, C, side, side), mirrored where `flip` (B,) is true."""
    left, top, right, bottom = (boxes * 2 - 1).unbind(1)
    zero = torch.zeros_like(left)
    half_width = (right - left) / 2
    if flip is not None:
        half_width = torch.where(flip, -half_width, half_width)
    theta = torch.stack(
        (
            torch.stack((half_width, zero, (right + left) / 2), 1),
            torch.stack((zero, (bottom - top) / 2, (bottom + top) / 2), 1),
        ),
        1,
    )
    grid = F.affine_grid(theta, [len(maps), maps.shape[1], side, side], align_corners=False)
    return F.grid_sample(maps, grid, mode=mode, padding_mode="border", align_corners=False)
