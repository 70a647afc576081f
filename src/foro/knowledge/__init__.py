"""The closed-form classifier: random projection, sufficient statistics, regularisation, solver."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foro.knowledge.encoder import KnowledgeEncoder as KnowledgeEncoder
    from foro.knowledge.encoder import Regularisation as Regularisation
    from foro.knowledge.label import Label as Label
    from foro.knowledge.projection import RandomProjection as RandomProjection
    from foro.knowledge.reference import RecursiveReference as RecursiveReference

_HOMES = {
    "KnowledgeEncoder": "encoder",
    "Label": "label",
    "RandomProjection": "projection",
    "RecursiveReference": "reference",
    "Regularisation": "encoder",
}

__all__ = ["KnowledgeEncoder", "Label", "RandomProjection", "RecursiveReference", "Regularisation"]


def __getattr__(name: str) -> Any:
    """Imports on first use: whoever only predicts needs no solver."""
    if name not in _HOMES:
        raise AttributeError(f"module 'foro.knowledge' has no attribute {name!r}")
    return getattr(import_module(f"foro.knowledge.{_HOMES[name]}"), name)
