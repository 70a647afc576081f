"""Forward-only continual learning: a frozen vision transformer that keeps learning new classes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foro.data.class_folders import read_class_folders as read_class_folders
    from foro.errors import FoRoError as FoRoError
    from foro.knowledge import KnowledgeEncoder as KnowledgeEncoder
    from foro.learner import Learner as Learner

_HOMES = {
    "FoRoError": "foro.errors",
    "KnowledgeEncoder": "foro.knowledge",
    "Learner": "foro.learner",
    "read_class_folders": "foro.data.class_folders",
}

__all__ = ["FoRoError", "KnowledgeEncoder", "Learner", "read_class_folders"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Imports on first use: ``import foro`` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'foro' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
