"""Whether what a model file holds of a knowledge encoder is of one piece."""

from __future__ import annotations

from typing import Any

from foro.heads.projection import Block
from foro.types import Arrays


def check_state(arrays: Arrays, settings: dict[str, Any]) -> None:
    """A part that is not there is a KeyError, one that does not fit the others a ValueError."""
    classes, size = arrays["cross"].shape
    projected, forgotten = settings["activation"] is not None, settings["forgotten"]
    kept = len(arrays["reservoir.classes"])
    expected = {
        "counts": (classes,),
        "tail": (len(arrays["tail_classes"]), size),
        **({"gram": (size * (size + 1) // 2,)} if settings["packed"] else {}),
        **({"projection": (settings["features"] // _parts(settings), size)} if projected else {}),
        "reservoir.features": (kept, settings["features"]),
        "reservoir.counts": (kept,),
        **({"forgotten.cross": (len(forgotten), size), "forgotten.counts": (len(forgotten),)} if forgotten else {}),
    }
    if classes:
        expected |= {"weights": (classes, size), "confidence.scores": (len(arrays["confidence.classes"]), classes)}
    numbers = [arrays[name] for name in ("reservoir.classes", "confidence.classes") if name in arrays]
    if any(((each < 0) | (each >= classes)).any() for each in numbers):
        raise ValueError("a kept sample is of no class")
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
    if len(settings["labels"]) != classes or not (projected or settings["features"] == size):
        raise ValueError("labels or features do not fit the statistics")


def read_blocks(settings: dict[str, Any]) -> list[Block]:
    """The blocks of the projection, as JSON has them."""
    return [(int(part), int(columns), float(scale)) for part, columns, scale in settings["blocks"]]


def _parts(settings: dict[str, Any]) -> int:
    return 1 + max((part for part, _, _ in read_blocks(settings)), default=0)
