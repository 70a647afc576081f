"""Frozen vision transformers: names, weights, preprocessing and the runtimes that compute them."""

from foro.backbones.architecture import Architecture
from foro.backbones.base import Backbone
from foro.backbones.catalog import list_backbones, load_backbone, load_checkpoint
from foro.backbones.checkpoint import Checkpoint, read_checkpoint
from foro.backbones.embedded import register
from foro.images.preprocessing import Preprocessing

__all__ = [
    "Architecture",
    "Backbone",
    "Checkpoint",
    "Preprocessing",
    "list_backbones",
    "load_backbone",
    "load_checkpoint",
    "read_checkpoint",
    "register",
]
