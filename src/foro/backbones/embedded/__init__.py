"""Backbones inside the package: a folder of weights and one decorated function each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foro.backbones.checkpoint import WEIGHTS_FILE, Checkpoint, read_checkpoint
from foro.errors import BackboneError

Loader = Callable[[], Checkpoint]

NANO = Path(__file__).parent / "nano_weights"

_LOADERS: dict[str, Loader] = {}
_FULL_NAMES: dict[str, str] = {}


def register(name: str, full_name: str) -> Callable[[Loader], Loader]:
    """Make a function that returns a checkpoint available under a short name and under its full name."""

    def decorate(loader: Loader) -> Loader:
        for key in (name, full_name):
            if key in _LOADERS or key in _FULL_NAMES:
                raise BackboneError(f"a backbone named {key!r} is already registered")
        _LOADERS[name] = loader
        _FULL_NAMES[full_name] = name
        return loader

    return decorate


def find_registered(name: str) -> Loader | None:
    """The function registered under a short or full name."""
    return _LOADERS.get(_FULL_NAMES.get(name, name))


def registered_names() -> list[str]:
    """Short names, in the order of registration."""
    return list(_LOADERS)


@register("nano", "vit_nano_patch8_64.foro_tin200")
def nano() -> Checkpoint:
    """A plain ViT for 64 px images, patch 8, pre-trained on Tiny-ImageNet, so that a first run needs no download."""
    if not (NANO / WEIGHTS_FILE).is_file():
        raise BackboneError("the nano backbone is not in this build of FoRo; name a timm model or a folder instead")
    return read_checkpoint(NANO)
