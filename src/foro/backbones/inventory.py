"""Which backbones there are, where their weights are, and whether one computes as it should."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from foro.backbones.catalog import list_backbones, load_backbone, load_checkpoint
from foro.backbones.checkpoint import CONFIG_FILE, WEIGHTS_FILE, Checkpoint
from foro.backbones.embedded import find_edition, find_registered
from foro.backbones.timm_table import timm_vits
from foro.errors import BackboneError

Place = Literal["embedded", "folder", "cache", "hub"]

PLACES: dict[Place, str] = {
    "embedded": "part of FoRo",
    "folder": "in a folder",
    "cache": "on this computer",
    "hub": "on the Hugging Face hub",
}

RECOMMENDED = (
    "nano",
    "vit_tiny_patch16_224.augreg_in21k_ft_in1k",
    "vit_small_patch16_224.augreg_in21k_ft_in1k",
    "vit_base_patch16_224.augreg_in21k_ft_in1k",
    "vit_base_patch16_224.augreg_in1k",
)
"""A good start at each size; the last one is the paper's."""

SPEEDS = {"fastest": 0.8e9, "fast": 2e9, "medium": 8e9, "slow": 30e9, "very slow": float("inf")}
"""Multiplications for one image up to which a backbone is called so: ViT-Ti/16 at 224 px has 1.1e9, ViT-B/16 17e9."""

ALONE = 1e-3
"""Largest difference between the features of an image alone and in a batch, relative to the largest feature."""


@dataclass(frozen=True)
class Verified:
    """A backbone that was built and run: its facts and its speed."""

    name: str
    place: Place
    facts: dict[str, Any]
    images_per_second: float


def place_of(name: str) -> Place:
    """Where the weights of a backbone are now."""
    if find_registered(name):
        return "embedded"
    if Path(name).exists():
        return "folder"
    edition = find_edition(name)
    if edition is None and ("/" in name or "." not in name):
        load_checkpoint(name)  # raises the error that explains the name
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        repository = (edition and edition[1].repository) or f"timm/{name}"
        files = [try_to_load_from_cache(repository, file) for file in (CONFIG_FILE, WEIGHTS_FILE)]
    except HFValidationError:
        raise BackboneError(f"there is no backbone named {name!r}") from None
    return "cache" if all(isinstance(file, str) for file in files) else "hub"


@dataclass(frozen=True)
class Listed:
    """A backbone that can be had: its size, its input in pixels, how fast it is and where its weights are."""

    name: str
    parameters: int
    image_size: int
    speed: str
    place: Place
    recommended: bool


def inventory(containing: str = "") -> list[Listed]:
    """Backbones whose names contain a text, the recommended ones first."""
    names = [name for name in list_backbones() if containing.lower() in name.lower()]
    first = [name for name in RECOMMENDED if name in names]
    return [_listed(name) for name in first + [name for name in names if name not in first]]


def _listed(name: str) -> Listed:
    facts = timm_vits().get(name.partition(".")[0]) or describe(load_checkpoint(name))
    parameters, side = facts["parameters"], facts["image_size"]
    work = parameters * (1 + (side // facts["patch_size"]) ** 2)  # every token meets every weight once
    speed = next(word for word, most in SPEEDS.items() if work <= most)
    return Listed(name, parameters, side, speed, place_of(name), name in RECOMMENDED)


def describe(checkpoint: Checkpoint) -> dict[str, Any]:
    """The facts of a checkpoint, ready for JSON."""
    shape, preprocessing = checkpoint.architecture, checkpoint.preprocessing()
    count = sum(int(np.prod(each)) for each in shape.tensor_shapes().values())
    return {
        "name": checkpoint.name,
        "parameters": count,
        "image_size": preprocessing.image_size,
        "patch_size": shape.patch_size,
        "layers": shape.depth,
        "width": shape.dim,
        "heads": shape.heads,
        "preprocessing": preprocessing.to_dict(),
        "fingerprint": checkpoint.fingerprint,
    }


def verify(name: str) -> Verified:
    """Downloads a backbone if necessary, builds it and runs it on images, alone and in a batch."""
    from foro.images.load import load_image
    from foro.images.made_up import made_up_pictures

    checkpoint = load_checkpoint(name)
    backbone = load_backbone(checkpoint)
    pixels = backbone.preprocessing.batch(load_image(image) for image in made_up_pictures(8))
    last = backbone.depth - 1
    start = time.perf_counter()
    together = backbone.forward(backbone.embed(pixels))[0, :, last]
    seconds = time.perf_counter() - start
    alone = np.concatenate([backbone.forward(backbone.embed(each[None]))[0, :, last] for each in pixels])
    scale = float(np.abs(together).max())
    if (
        not np.isfinite(together).all()
        or np.abs(alone - together).max() > ALONE * scale
        or not np.ptp(together, axis=0).any()
    ):
        raise BackboneError(f"{name} was read, but does not compute as it should: its weights may be damaged")
    return Verified(name, place_of(name), describe(checkpoint), len(pixels) / seconds)
