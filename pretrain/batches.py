"""Training batches: what the student sees at a step is a function of the seed and the step number alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from augment import augment
from crops import cut, draw_boxes, inside
from forward_pass import Outputs
from images import Images
from recipe import Recipe
from teacher import Targets
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
        x: augmented pictures (B, 3, H, W) in [-1, 1].
        keep: numbers of the patches the student looks at (B, K), or None for all of them.
        wanted: what the teacher says about the view, its patch tokens (B, K, 192) at the place of each kept patch.
        labels: class numbers (B,).
    """

    x: Tensor
    keep: Tensor | None
    wanted: Outputs
    labels: Tensor


class Batches:
    """Draws batches from the images and the teacher's targets; every image is seen once an epoch."""

    def __init__(self, images: Images, targets: Targets, recipe: Recipe) -> None:
        self._images, self._targets, self._recipe = images, targets, recipe
        self._epoch, self._order = -1, np.empty(0, dtype=np.int64)
        self._chosen = np.random.default_rng((recipe.seed, 0)).permutation(len(images))[: recipe.images]
        self.steps_an_epoch = len(self._chosen) // recipe.batch

    def draw(self, step: int, difficulty: Difficulty, drop: float) -> Batch:
        """Draw the batch of `step`, where the student does not look at the part `drop` of the patches."""
        recipe = self._recipe
        rng = torch.Generator().manual_seed(recipe.seed * 1_000_000 + step)
        rows = self._rows(step)
        part = step % difficulty.part_every == difficulty.part_every - 1
        view = (2 * self._epoch + part) % recipe.views
        outer = self._targets.views[view].boxes[torch.from_numpy(rows)]
        inner = draw_boxes(len(rows), difficulty.area, 1.15, rng)
        flip = torch.rand(len(rows), generator=rng) < 0.5

        pixels = torch.from_numpy(self._images.pixels[rows]).float() / 255
        x = cut(pixels, inside(outer, inner), recipe.side, flip, mode="bicubic").clamp_(0, 1)
        x = augment(x, difficulty.strength, rng) * 2 - 1

        wanted = self._targets.look(view, rows)
        tokens = cut(wanted.tokens, inner, recipe.grid, flip).flatten(2).transpose(1, 2)
        keep = None
        if drop > 0:
            patches = recipe.grid**2
            keep = torch.rand(len(rows), patches, generator=rng).argsort(1)[:, : round(patches * (1 - drop))]
            tokens = tokens.gather(1, keep.unsqueeze(2).expand(-1, -1, tokens.shape[2]))
        labels = torch.from_numpy(self._images.labels[rows])
        return Batch(x, keep, replace(wanted, tokens=tokens), labels)

    def _rows(self, step: int) -> np.ndarray:
        """Return the image numbers of `step`, sorted so that they are read in the order of the disk."""
        epoch, place = divmod(step, self.steps_an_epoch)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = np.random.default_rng((self._recipe.seed, 1 + epoch)).permutation(self._chosen)
        batch = self._recipe.batch
        return np.sort(self._order[place * batch : (place + 1) * batch])
