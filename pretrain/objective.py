"""What the student is asked for: the teacher's tokens and logits, and the true label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from forward_pass import Outputs
from recipe import Recipe
from teacher import DEPTHS, DIM, Targets
from torch import Tensor, nn

TEMPERATURE = 2.0


@dataclass(frozen=True)
class Statistics:
    """Mean and deviation of every coordinate of the teacher's tokens: (192,), (192,) and (2, 2, 192)."""

    cls: tuple[Tensor, Tensor]
    tokens: tuple[Tensor, Tensor]
    depths: tuple[Tensor, Tensor]


def measure(targets: Targets, images: int, rows: int = 1000) -> Statistics:
    """Measure the statistics on `rows` of `images` images, spread evenly, in the first view."""
    said = targets.look(0, np.linspace(0, images - 1, rows).astype(np.int64))
    tokens = said.tokens.transpose(0, 1).flatten(1)
    return Statistics(
        (said.cls.mean(0), said.cls.std(0)),
        (tokens.mean(1), tokens.std(1)),
        (said.depths.mean(0), said.depths.std(0)),
    )


def _standardised(x: Tensor, statistics: tuple[Tensor, Tensor]) -> Tensor:
    mean, deviation = statistics
    return (x - mean) / deviation


class Objective(nn.Module):
    """The heads that exist only during training, and the loss computed through them.

    The student's predicted class token also goes through the teacher's own frozen classifier, so that the
    directions which decide between classes weigh more. None of this is part of the exported student.
    """

    def __init__(self, recipe: Recipe, statistics: Statistics, classifier: nn.Linear, classes: int) -> None:
        super().__init__()
        dim = recipe.dim
        self.to_cls = nn.Linear(dim, DIM)
        nn.init.eye_(self.to_cls.weight)
        nn.init.zeros_(self.to_cls.bias)
        self.to_tokens = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, DIM))
        self.to_label = nn.Linear(dim, classes)
        self.to_depths = nn.ModuleList(nn.Linear(dim, DIM) for _ in range(2 * len(DEPTHS)))
        self._statistics = statistics
        self._classifier = [classifier.weight.detach(), classifier.bias.detach()]
        self._weights = {
            "cls": recipe.cls_weight,
            "logits": recipe.logit_weight,
            "tokens": recipe.token_weight,
            "label": recipe.label_weight,
            "depths": recipe.depth_weight,
        }

    def forward(self, said: Outputs, wanted: Outputs, labels: Tensor) -> dict[str, Tensor]:
        """Return the unweighted parts of the loss; tokens are (B, K, D) in `said` and (B, K, 192) in `wanted`."""
        mean, deviation = self._statistics.cls
        predicted = self.to_cls(said.cls)
        logits = F.linear(predicted * deviation + mean, *self._classifier) / TEMPERATURE
        wanted_logits = F.linear(wanted.cls, *self._classifier) / TEMPERATURE
        divergence = F.kl_div(
            logits.log_softmax(1), wanted_logits.log_softmax(1), reduction="batchmean", log_target=True
        )
        parts = {
            "cls": F.smooth_l1_loss(predicted, _standardised(wanted.cls, self._statistics.cls)),
            "logits": divergence * TEMPERATURE**2,
            "tokens": F.smooth_l1_loss(
                self.to_tokens(said.tokens), _standardised(wanted.tokens, self._statistics.tokens)
            ),
            "label": F.cross_entropy(self.to_label(said.cls), labels, label_smoothing=0.1),
        }
        if said.depths.shape[1]:
            tokens = said.depths.flatten(1, 2).unbind(1)
            mapped = torch.stack([head(x) for head, x in zip(self.to_depths, tokens, strict=True)], 1)
            aims = _standardised(wanted.depths, self._statistics.depths).flatten(1, 2)
            parts["depths"] = F.smooth_l1_loss(mapped, aims)
        return parts

    def total(self, parts: dict[str, Tensor]) -> Tensor:
        """Add the parts of the loss by their weights."""
        return torch.stack([self._weights[name] * part for name, part in parts.items()]).sum()
