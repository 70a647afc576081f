"""Where the backbone of a model comes from: a name or a folder, and the same weights again for a model file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from foro.backbones import Backbone, load_backbone
from foro.backbones.embedded import find_edition, find_registered
from foro.backbones.graph.linear import Precision
from foro.errors import BackboneError, InputError, ModelFileError


def find_backbone(
    backbone: str | Path | Backbone, image_size: int | None, precision: Precision | None = None
) -> tuple[str | None, Backbone]:
    """Where the backbone comes from, if by name, and the backbone itself."""
    if isinstance(backbone, (str, Path)):
        place = Path(backbone)
        source = str(place.resolve()) if place.exists() else str(backbone)
        return source, load_backbone(backbone, image_size=image_size, precision=precision or "float32")
    if image_size not in (None, backbone.image_size):
        raise InputError(f"{backbone.name} was loaded for {backbone.image_size} pixels, not for {image_size}")
    if precision not in (None, has := precision_of(backbone.fingerprint)):
        raise InputError(f"{backbone.name} was loaded with precision {has}, not with {precision}")
    return None, backbone


def precision_of(fingerprint: str) -> str:
    """The precision of a backbone, which follows the SHA-256 of its weights where it is not float32."""
    return fingerprint[65:] or "float32"


def describe_backbone(backbone: Backbone, source: str | None) -> dict[str, Any]:
    """What a model file stores about its backbone."""
    return {
        "name": backbone.name,
        "source": source,
        "fingerprint": backbone.fingerprint,
        "image_size": backbone.image_size,
    }


def taught_backbone(
    path: str | Path, taught: Mapping[str, Any], backbone: str | Path | Backbone | None
) -> tuple[str | None, Backbone]:
    """The backbone that a model file describes, from where it was or, if given, from ``backbone``."""
    try:
        name, source, fingerprint, image_size = (taught[key] for key in ("name", "source", "fingerprint", "image_size"))
    except (KeyError, TypeError) as error:
        raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
    if not isinstance(source, str | None) or not all(isinstance(each, str) for each in (name, fingerprint)):
        raise ModelFileError(f"{path} does not name its backbone")
    if type(image_size) is not int:
        raise ModelFileError(f"{path} says that its images have {image_size!r} pixels")
    if (precision := precision_of(fingerprint)) not in get_args(Precision):
        raise ModelFileError(f"{path} says that its backbone runs with precision {precision!r}")
    wanted, edition = source or name if backbone is None else backbone, find_edition(fingerprint[:64])
    if backbone is None and edition and find_registered(edition[0]) is None:
        wanted = edition[0]  # the short name has come to stand for a newer one
    try:
        place, found = find_backbone(wanted, image_size, cast(Precision, precision))
    except BackboneError as error:
        if backbone is not None:
            if backbone in (name, source):
                raise
            raise BackboneError(
                f"{path} needs {name}: leave the backbone out, or say where that is ({error})"
            ) from None
        if edition:
            raise BackboneError(
                f"{path} was taught with {edition[0]}, which is no longer part of FoRo: get it by foro backbone pull "
                f"{edition[0]}, or say where it is by backbone=… or --backbone ({error})"
            ) from None
        raise BackboneError(f"{path} needs {name}; say where it is by backbone=… or --backbone ({error})") from None
    if found.fingerprint != fingerprint:
        mine, theirs = _told_apart(str(fingerprint), found.fingerprint)
        newer = backbone is None and find_registered(str(wanted)) is not None and name != found.name
        what = "" if backbone is None else ": leave the backbone out, or teach a new model"
        if newer:
            what = f"; that edition of {wanted} is not in this version of FoRo: update it"
        raise ModelFileError(
            f"{path} was taught with {name} (weights {mine}), not with {found.name} (weights {theirs}){what}"
        )
    return place, found


def _told_apart(*fingerprints: str) -> list[str]:
    """A dozen digits of each from where they differ, and the precision that may follow a SHA-256."""
    same = next((place for place, digits in enumerate(zip(*fingerprints, strict=False)) if len(set(digits)) > 1), 0)
    start = 0 if same < 12 else same
    return [f"{'…' * (start > 0)}{each[start : start + 12]}…{each[64:]}" for each in fingerprints]
