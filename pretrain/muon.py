"""Muon: momentum whose update of every weight matrix is orthogonalised (Jordan et al., 2024).

Weight matrices move by an update with all singular values near one, which takes far fewer steps than an
element-wise rule. Everything else (embeddings, norms, biases) takes AdamW. Updates of equal shape are
orthogonalised in one batch, and a fused query-key-value matrix is treated as the three matrices it holds.
"""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor, nn

QUINTIC = (3.4445, -4.7750, 2.0315)
"""Coefficients of the Newton-Schulz polynomial."""


def orthogonalise(g: Tensor, rounds: int = 5) -> Tensor:
    """Return, for a batch (K, m, n) of matrices with m <= n, nearly the closest semi-orthogonal matrices."""
    a, b, c = QUINTIC
    x = (g / (g.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(rounds):
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.to(g.dtype)


class Muon(torch.optim.Optimizer):
    """Muon over named 2-D weights, with steps of the same root mean square as those of AdamW (0.2 lr)."""

    def __init__(
        self,
        named: list[tuple[str, nn.Parameter]],
        lr: float = 3e-3,
        momentum: float = 0.95,
        weight_decay: float = 0.05,
    ) -> None:
        self._parts = {parameter: 3 if name.endswith("qkv.weight") else 1 for name, parameter in named}
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__([parameter for _, parameter in named], defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Apply one update to every weight that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = defaultdict(list)
            for parameter in group["params"]:
                buffer = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
                buffer.lerp_(parameter.grad, 1 - group["momentum"])
                update = parameter.grad.lerp(buffer, group["momentum"])
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parts = self._parts[parameter]
                for piece, change in zip(parameter.chunk(parts), update.chunk(parts), strict=True):
                    if piece.shape[0] > piece.shape[1]:
                        piece, change = piece.T, change.T
                    by_shape[tuple(piece.shape)].append((piece, change))
            for shape, pairs in by_shape.items():
                changes = orthogonalise(torch.stack([change for _, change in pairs]))
                for (piece, _), change in zip(pairs, changes, strict=True):
                    piece.sub_(change, alpha=group["lr"] * 0.2 * max(shape) ** 0.5)
