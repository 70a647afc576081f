"""Closed-form classifiers over feature vectors: each is one file with one class under a name in ``HEADS``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from foro.errors import InputError

if TYPE_CHECKING:
    from foro.heads.head import Head

HEADS = {
    "ridge": "foro.heads.ridge.encoder:KnowledgeEncoder",
    "nearest-mean": "foro.heads.nearest_mean:NearestMean",
}
"""Where each head is, imported when it is asked for: predicting needs no solver."""


def find_head(name: str) -> type[Head]:
    """The class of a head."""
    if name not in HEADS:
        raise InputError(f"head must be one of {', '.join(HEADS)}, not {name!r}")
    module, _, kind = HEADS[name].partition(":")
    head: type[Head] = getattr(import_module(module), kind)
    return head
