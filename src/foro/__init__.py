"""Forward-only continual learning: a frozen vision transformer that keeps learning new classes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foro.backbones import list_backbones as list_backbones
    from foro.backbones import load_backbone as load_backbone
    from foro.cluster import RayEngine as RayEngine
    from foro.config import LearnerConfig as LearnerConfig
    from foro.durable import DurableLearner as DurableLearner
    from foro.errors import FoRoError as FoRoError
    from foro.errors import FoRoWarning as FoRoWarning
    from foro.evaluation.evaluation_page import write_evaluation as write_evaluation
    from foro.evaluation.pictures import draw_confusion as draw_confusion
    from foro.evaluation.pictures import draw_reliability as draw_reliability
    from foro.heads.ridge import KnowledgeEncoder as KnowledgeEncoder
    from foro.images.class_folders import read_class_folders as read_class_folders
    from foro.images.labelled import read_labelled as read_labelled
    from foro.learner import Learner as Learner
    from foro.research.datasets.registry import load_dataset as load_dataset
    from foro.snapshot import Snapshot as Snapshot
    from foro.verbs.merge_models import merge_models as merge_models
    from foro.verbs.reading import describe as describe
    from foro.verbs.reading import load_snapshot as load_snapshot
    from foro.verbs.review_page import write_review as write_review
    from foro.verbs.reviewing import review as review
    from foro.verbs.teach import teach as teach
    from foro.verbs.teach import unteach as unteach

_HOMES = {
    "DurableLearner": "foro.durable",
    "FoRoError": "foro.errors",
    "FoRoWarning": "foro.errors",
    "KnowledgeEncoder": "foro.heads.ridge",
    "Learner": "foro.learner",
    "LearnerConfig": "foro.config",
    "RayEngine": "foro.cluster",
    "Snapshot": "foro.snapshot",
    "describe": "foro.verbs.reading",
    "draw_confusion": "foro.evaluation.pictures",
    "draw_reliability": "foro.evaluation.pictures",
    "list_backbones": "foro.backbones",
    "load_backbone": "foro.backbones",
    "load_dataset": "foro.research.datasets.registry",
    "load_snapshot": "foro.verbs.reading",
    "merge_models": "foro.verbs.merge_models",
    "read_class_folders": "foro.images.class_folders",
    "read_labelled": "foro.images.labelled",
    "review": "foro.verbs.reviewing",
    "teach": "foro.verbs.teach",
    "unteach": "foro.verbs.teach",
    "write_evaluation": "foro.evaluation.evaluation_page",
    "write_review": "foro.verbs.review_page",
}

__all__ = [*_HOMES]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Imports on first use: ``import foro`` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'foro' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
