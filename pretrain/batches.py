"""Training batches: what the student sees at a step is a function of the seed and the step number alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from augment import augment
from crops import cut, draw_boxes, inside
from images import Images
from student import GRID, SIDE
from teacher import PART, WHOLE, Targets
from torch import Tensor


@dataclass(frozen=True)
class Difficulty:
    """How far the student's picture is from the whole, clean image.

    Attributes:
        area: range of the area of the student's crop, as a part of the teacher's view of the same image.
        part_every: one step in so many takes the view that shows a part of the image, the others the whole.
        strength: factor on the probabilities of the changes of colour.
    """

    area: tuple[float, float]
    part_every: int
    strength: float


HARD = Difficulty((0.65, 1.0), 2, 1.0)
EASY = Difficulty((0.85, 1.0), 3, 0.6)


@dataclass(frozen=True)
class Batch:
    """One step's input and targets.

    Attributes:
        x: augmented pictures (B, 3, 64, 64) in [-1, 1].
        keep: numbers of the patches the student looks at (B, K), or None for all of them.
        cls: the teacher's class token on the view (B, 192).
        tokens: the teacher's patch tokens at the place of each kept patch (B, K, 192).
        labels: class numbers (B,).
    """

    x: Tensor
    keep: Tensor | None
    cls: Tensor
    tokens: Tensor
    labels: Tensor


class Batches:
    """Draws batches from the images and the teacher's targets; every image is seen once an epoch."""

    def __init__(self, images: Images, targets: Targets, size: int, seed: int) -> None:
        self._images, self._targets, self._size, self._seed = images, targets, size, seed
        self._epoch, self._order = -1, np.empty(0, dtype=np.int64)
        self.steps_an_epoch = len(images) // size

    def draw(self, step: int, difficulty: Difficulty, drop: float) -> Batch:
        """Draw the batch of `step`, where the student does not look at the part `drop` of the patches."""
        rng = torch.Generator().manual_seed(self._seed * 1_000_000 + step)
        rows = self._rows(step)
        view = PART if step % difficulty.part_every == difficulty.part_every - 1 else WHOLE
        outer = self._targets.boxes[view][torch.from_numpy(rows)]
        inner = draw_boxes(len(rows), difficulty.area, 1.15, rng)
        flip = torch.rand(len(rows), generator=rng) < 0.5

        pixels = torch.from_numpy(self._images.pixels[rows]).float() / 255
        x = cut(pixels, inside(outer, inner), SIDE, flip, mode="bicubic").clamp_(0, 1)
        x = augment(x, difficulty.strength, rng) * 2 - 1

        maps = torch.from_numpy(self._targets.tokens[view][rows]).float()
        tokens = cut(maps, inner, GRID, flip).flatten(2).transpose(1, 2)
        keep = None
        if drop > 0:
            kept = round(GRID * GRID * (1 - drop))
            keep = torch.rand(len(rows), GRID * GRID, generator=rng).argsort(1)[:, :kept]
            tokens = tokens.gather(1, keep.unsqueeze(2).expand(-1, -1, tokens.shape[2]))
        cls = torch.from_numpy(self._targets.cls[view][rows]).float()
        return Batch(x, keep, cls, tokens, torch.from_numpy(self._images.labels[rows]))

    def _rows(self, step: int) -> np.ndarray:
        """Return the image numbers of `step`, sorted so that they are read in the order of the disk."""
        epoch, place = divmod(step, self.steps_an_epoch)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = np.random.default_rng((self._seed, epoch)).permutation(len(self._images))
        return np.sort(self._order[place * self._size : (place + 1) * self._size])
