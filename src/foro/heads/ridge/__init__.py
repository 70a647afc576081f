"""The closed-form classifier: random projection, sufficient statistics, regularisation, solver."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foro.heads.projection import RandomProjection as RandomProjection
    from foro.heads.ridge.encoder import KnowledgeEncoder as KnowledgeEncoder
    from foro.heads.ridge.reference import RecursiveReference as RecursiveReference

_HOMES = {
    "KnowledgeEncoder": "encoder",
    "RandomProjection": "projection",
    "RecursiveReference": "reference",
}

__all__ = ["KnowledgeEncoder", "RandomProjection", "RecursiveReference"]


def __getattr__(name: str) -> Any:
    """Imports on first use: whoever only predicts needs no solver."""
    if name not in _HOMES:
        raise AttributeError(f"module 'foro.heads.ridge' has no attribute {name!r}")
    return getattr(import_module(f"foro.heads.ridge.{_HOMES[name]}"), name)
