"""What the student is asked for: the teacher's tokens after every block, and at last its logits.

All distances are shares: 1 is the distance of the best constant.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from layers import embed, run_block, states
from pictures import Pictures
from recipe import Recipe
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

TEMPERATURE = 2.0
FLOOR = 0.1
"""Part of the mean variance below which the variance of a coordinate does not count."""


class Distance:
    """The mean square of differences, each coordinate divided by its variance in a sample (n, D) of what is wanted."""

    def __init__(self, sample: Tensor) -> None:
        variance = sample.var(0)
        weight = 1 / (variance + FLOOR * variance.mean() + 1e-12)
        self._weight = weight / (variance * weight).mean().clamp(min=1e-6)

    def __call__(self, found: Tensor, wanted: Tensor) -> Tensor:
        return ((found - wanted).square() * self._weight).mean()


class Objective:
    """Compares a student with its teacher; the distances are measured on `pictures`."""

    def __init__(self, teacher: VisionTransformer, pictures: Pictures, recipe: Recipe) -> None:
        self._teacher, self._recipe = teacher, recipe
        with torch.inference_mode():
            known = states(teacher, pictures.large, pictures.keep)
            last = teacher.norm(known[-1][:, 0])
        changes = [known[0], *(after - before[:, : after.shape[1]] for before, after in pairwise(known))]
        self._patches = [[Distance(each[:, 1:].flatten(0, 1)) for each in kind[:-1]] for kind in (changes, known)]
        self._cls = [[Distance(each[:, 0]) for each in kind[1:]] for kind in (changes, known)]
        self._last = Distance(last)

    def learn(self, student: VisionTransformer, pictures: Pictures, alone: bool) -> dict[str, float]:
        """Add the gradients of a step to the student's and return the parts of its loss, as means over blocks.

        With `alone` every block is given what enters the teacher's, so that none waits for the ones before it.
        """
        with torch.no_grad():
            wanted = states(self._teacher, pictures.large, pictures.keep)
        tokens = embed(student, pictures.small, pictures.keep)
        patch, cls = [self._patches[not alone][0](tokens[:, 1:], wanted[0][:, 1:])], []
        losses = patch[:]
        for number, aim in enumerate(wanted[1:]):
            tokens = run_block(student, number, wanted[number] if alone else tokens)
            cls.append(self._cls[not alone][number](tokens[:, 0], aim[:, 0]))
            losses.append(self._recipe.cls_weight * cls[-1])
            if tokens.shape[1] > 1:
                patch.append(self._patches[not alone][number + 1](tokens[:, 1:], aim[:, 1:]))
                losses.append(patch[-1])
        parts = {"patches": sum(patch) / len(patch), "cls": sum(cls) / len(cls)}
        if not alone:
            parts |= self._at_last(student.norm(tokens[:, 0]), self._teacher.norm(wanted[-1][:, 0]))
            losses += [self._recipe.last_weight * parts["last"], self._recipe.logit_weight * parts["logits"]]
        loss = torch.stack(losses).sum()
        loss.backward()
        return {"loss": loss.item(), **{name: part.item() for name, part in parts.items()}}

    def _at_last(self, found: Tensor, wanted: Tensor) -> dict[str, Tensor]:
        """Compare the class tokens after the last norm, and what the teacher's classifier makes of them."""
        logits, aims = (self._teacher.head(each) / TEMPERATURE for each in (found, wanted))
        divergence = F.kl_div(logits.log_softmax(1), aims.log_softmax(1), reduction="batchmean", log_target=True)
        return {"last": self._last(found, wanted), "logits": divergence * TEMPERATURE**2}
