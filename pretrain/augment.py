"""Changes of colour and resolution of a batch of pictures in [0, 1], before student and teacher look at it.

Both see the same, so that a change never is a wrong answer: it only shows the student more of what the teacher does.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

GRAY = (0.299, 0.587, 0.114)
COARSE_SIDES = (16, 20, 24, 28, 32, 32, 32, 40, 48)
"""Sides, in pixels, to which a picture is brought down before it is brought up again."""

P_JITTER, P_GRAY, P_COARSE, P_INVERT, P_NOISE = 0.5, 0.1, 0.3, 0.05, 0.1


def augment(x: Tensor, strength: float, rng: torch.Generator) -> Tensor:
    """Return the batch `x` (B, 3, H, W) with every picture's colours changed by its own draw.

    `strength` multiplies the probability of every change.
    """
    x = _jitter(x, P_JITTER * strength, rng)
    x = torch.where(_chosen(x, P_GRAY * strength, rng), _gray(x).expand_as(x), x)
    x = torch.where(_chosen(x, P_INVERT * strength, rng), 1 - x, x)
    noise = torch.randn(x.shape, generator=rng) * 0.04
    return torch.where(_chosen(x, P_NOISE * strength, rng), x + noise, x).clamp_(0, 1)


def coarsen(x: Tensor, rng: torch.Generator) -> Tensor:
    """Bring some pictures down to a small side and up again, as if they came from a small source."""
    x = x.clone()
    picked = torch.nonzero(torch.rand(len(x), generator=rng) < P_COARSE).flatten()
    kinds = torch.randint(len(COARSE_SIDES), (len(picked),), generator=rng)
    for kind, side in enumerate(COARSE_SIDES):
        where = picked[kinds == kind]
        if len(where):
            small = F.interpolate(x[where], size=(side, side), mode="area")
            x[where] = F.interpolate(small, size=x.shape[-2:], mode="bicubic", align_corners=False)
    return x.clamp_(0, 1)


def _chosen(x: Tensor, p: float, rng: torch.Generator) -> Tensor:
    """Draw which pictures a change applies to, shaped to broadcast over `x`."""
    return torch.rand(len(x), 1, 1, 1, generator=rng) < p


def _gray(x: Tensor) -> Tensor:
    return (x * torch.tensor(GRAY).view(1, 3, 1, 1)).sum(1, keepdim=True)


def _jitter(x: Tensor, p: float, rng: torch.Generator) -> Tensor:
    """Change brightness, contrast, saturation and the balance of the three colours."""

    def around_one(spread: float, channels: int = 1) -> Tensor:
        return 1 + (torch.rand(len(x), channels, 1, 1, generator=rng) * 2 - 1) * spread

    y = x * around_one(0.3) * around_one(0.12, 3)
    gray = _gray(y)
    y = gray + (y - gray) * around_one(0.4)
    mean = gray.mean((2, 3), keepdim=True)
    y = mean + (y - mean) * around_one(0.35)
    return torch.where(_chosen(x, p, rng), y, x).clamp_(0, 1)
