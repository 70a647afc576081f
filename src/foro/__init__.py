"""Forward-only continual learning: a frozen vision transformer that keeps learning new classes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foro.durable import DurableLearner as DurableLearner
    from foro.errors import FoRoError as FoRoError
    from foro.heads.ridge import KnowledgeEncoder as KnowledgeEncoder
    from foro.images.class_folders import read_class_folders as read_class_folders
    from foro.images.labelled import read_labelled as read_labelled
    from foro.learner import Learner as Learner
    from foro.snapshot import Snapshot as Snapshot
    from foro.verbs.reading import load_snapshot as load_snapshot

_HOMES = {
    "DurableLearner": "foro.durable",
    "FoRoError": "foro.errors",
    "KnowledgeEncoder": "foro.heads.ridge",
    "Learner": "foro.learner",
    "Snapshot": "foro.snapshot",
    "load_snapshot": "foro.verbs.reading",
    "read_class_folders": "foro.images.class_folders",
    "read_labelled": "foro.images.labelled",
}

__all__ = [
    "DurableLearner",
    "FoRoError",
    "KnowledgeEncoder",
    "Learner",
    "Snapshot",
    "load_snapshot",
    "read_class_folders",
    "read_labelled",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Imports on first use: ``import foro`` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'foro' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
