"""A linear classifier that grows with the labels, and the loss over those of a task."""

from __future__ import annotations

from typing import Any


def new_head(dim: int, device: Any) -> Any:
    """A head without a class."""
    import torch

    head = torch.nn.Linear(dim, 1, device=device)
    head.weight, head.bias = (torch.nn.Parameter(each.detach()[:0]) for each in (head.weight, head.bias))
    return head


def grown(head: Any, classes: int) -> Any:
    """A head with ``classes`` classes: the known ones unchanged, the new ones zero."""
    import torch

    known, dim = head.weight.shape
    larger = torch.nn.utils.skip_init(torch.nn.Linear, dim, classes, device=head.weight.device)
    with torch.no_grad():
        for new, old in ((larger.weight, head.weight), (larger.bias, head.bias)):
            new.zero_()
            new[:known] = old
    return larger


def cross_entropy(logits: Any, targets: Any, among: Any = None) -> Any:
    """Mean cross-entropy of logits (b, c) among some of the classes, an ascending tensor of positions; None: all."""
    import torch

    if among is not None:
        logits, targets = logits[:, among], torch.searchsorted(among, targets)
    return torch.nn.functional.cross_entropy(logits, targets)
