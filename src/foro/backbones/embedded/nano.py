"""``nano``: the small ViT inside the package, so that a first run needs no download."""

from __future__ import annotations

from pathlib import Path

from foro.backbones.checkpoint import WEIGHTS_FILE, Checkpoint, read_checkpoint
from foro.backbones.shipped import register
from foro.errors import BackboneError

FOLDER = Path(__file__).parent / "nano_weights"


@register("nano", "vit_nano_patch8_64.foro_tin200")
def nano() -> Checkpoint:
    """A plain ViT for 64 px images, patch 8, pre-trained on Tiny-ImageNet."""
    if not (FOLDER / WEIGHTS_FILE).is_file():
        raise BackboneError("the nano backbone is not in this build of FoRo; name a timm model or a folder instead")
    return read_checkpoint(FOLDER)
