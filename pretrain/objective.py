"""What the student is asked for: the teacher's class token, logits and patch tokens, and the true label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from student import DIM
from teacher import Targets
from torch import Tensor, nn

TEMPERATURE = 2.0
WEIGHTS = {"cls": 5.0, "logits": 0.5, "tokens": 3.0, "label": 0.3}


@dataclass(frozen=True)
class Statistics:
    """Mean and deviation of every coordinate of the teacher's class token and patch tokens."""

    cls_mean: Tensor
    cls_std: Tensor
    token_mean: Tensor
    token_std: Tensor


def measure(targets: Targets, rows: int = 2000) -> Statistics:
    """Measure the statistics on `rows` images spread evenly over the first view."""
    picked = np.linspace(0, targets.cls.shape[1] - 1, rows).astype(int)
    cls = torch.from_numpy(targets.cls[0][picked]).float()
    tokens = torch.from_numpy(targets.tokens[0][picked]).float().transpose(0, 1).flatten(1)
    return Statistics(cls.mean(0), cls.std(0), tokens.mean(1), tokens.std(1))


class Objective(nn.Module):
    """The heads that exist only during training, and the loss computed through them.

    The student's predicted class token also goes through the teacher's own frozen classifier, so that the
    directions which decide between classes weigh more. None of this is part of the exported student.
    """

    def __init__(self, statistics: Statistics, classifier: nn.Linear, classes: int) -> None:
        super().__init__()
        self.to_cls = nn.Linear(DIM, DIM)
        nn.init.eye_(self.to_cls.weight)
        nn.init.zeros_(self.to_cls.bias)
        self.to_tokens = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, DIM))
        self.to_label = nn.Linear(DIM, classes)
        self._statistics = statistics
        self._classifier = [classifier.weight.detach(), classifier.bias.detach()]

    def forward(
        self, cls: Tensor, tokens: Tensor, target_cls: Tensor, target_tokens: Tensor, labels: Tensor
    ) -> dict[str, Tensor]:
        """Return the unweighted parts of the loss; `tokens` and `target_tokens` are (B, K, 192)."""
        s = self._statistics
        wanted_cls = (target_cls - s.cls_mean) / s.cls_std
        wanted_tokens = (target_tokens - s.token_mean) / s.token_std
        predicted = self.to_cls(cls)
        logits = F.linear(predicted * s.cls_std + s.cls_mean, *self._classifier) / TEMPERATURE
        wanted_logits = F.linear(target_cls, *self._classifier) / TEMPERATURE
        divergence = F.kl_div(
            logits.log_softmax(1), wanted_logits.log_softmax(1), reduction="batchmean", log_target=True
        )
        return {
            "cls": F.smooth_l1_loss(predicted, wanted_cls),
            "logits": divergence * TEMPERATURE**2,
            "tokens": F.smooth_l1_loss(self.to_tokens(tokens), wanted_tokens),
            "label": F.cross_entropy(self.to_label(cls), labels, label_smoothing=0.1),
        }


def total(parts: dict[str, Tensor]) -> Tensor:
    """Add the parts of the loss by their weights."""
    return torch.stack([WEIGHTS[name] * part for name, part in parts.items()]).sum()
