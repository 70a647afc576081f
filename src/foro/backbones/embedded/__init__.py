"""Backbones inside the package: a folder of weights and one decorated function each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foro.backbones.checkpoint import WEIGHTS_FILE, Checkpoint, read_checkpoint
from foro.errors import BackboneError

Loader = Callable[[], Checkpoint]

NANO = Path(__file__).parent / "nano_weights"


@dataclass(frozen=True)
class Edition:
    """A published version of an embedded backbone: its full name, the SHA-256 of its weights, and where they are."""

    full_name: str
    fingerprint: str
    repository: str | None = None  # on the Hugging Face hub; None: they are part of this package


EDITIONS = {
    "nano@1": Edition(
        "vit_nano_patch8_64.foro_tin200",
        "182f25b7ce5311976b566f3b630b3ba83125e57adce17650c9f9742dca239707",
        "foro-continual/nano-1",
    ),
    "nano@2": Edition(
        "vit_nano_patch8_96.foro2_tin200", "931863496bce58e38e05f951ae89349e4e36739f9d8c67d5c825a94b94cf2344"
    ),
}
"""Every edition by its name. A short name such as nano stands for the newest, whose full name is registered below; an
older one stays here with the repository that its weights were moved to, because models were taught with it."""

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
    """The function registered under a short or full name, or under the name of an edition that is part of FoRo."""
    full_name = EDITIONS[name].full_name if name in EDITIONS else name
    return _LOADERS.get(_FULL_NAMES.get(full_name, full_name))


def find_edition(text: str) -> tuple[str, Edition] | None:
    """An edition, with its name, by that name, its full name or the SHA-256 of its weights."""
    for name, edition in EDITIONS.items():
        if text in (name, edition.full_name, edition.fingerprint):
            return name, edition
    return None


def registered_names() -> list[str]:
    """Short names, in the order of registration."""
    return list(_LOADERS)


@register("nano", "vit_nano_patch8_96.foro2_tin200")
def nano() -> Checkpoint:
    """A plain ViT for 96 px images, patch 8, pre-trained on Tiny-ImageNet, so that a first run needs no download."""
    if not (NANO / WEIGHTS_FILE).is_file():
        raise BackboneError("the nano backbone is not in this build of FoRo; name a timm model or a folder instead")
    return read_checkpoint(NANO)
