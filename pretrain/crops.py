"""Crop boxes: how they are drawn, and how a batch of pictures is cut by them.

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


def cut(pictures: Tensor, boxes: Tensor, side: int, flip: Tensor | None = None) -> Tensor:
    """Cut pictures (B, C, H, W) in [0, 1] by `boxes` (B, 4) to (B, C, side, side), mirrored where `flip` is true."""
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
    grid = F.affine_grid(theta, [len(pictures), pictures.shape[1], side, side], align_corners=False)
    found = F.grid_sample(pictures, grid, mode="bicubic", padding_mode="border", align_corners=False)
    return found.clamp_(0, 1)
