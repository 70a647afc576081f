"""``foro export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foro.cli.options import BackbonePlace, Json, Model, Portable
from foro.cli.terminal import report, say_json
from foro.errors import counted


def export(
    model: Model,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="What to write: a .onnx or a .safetensors file.", show_default=False)
    ],
    images: Annotated[
        list[str] | None,
        typer.Option("--check", help="Images or folders to compare the file and the model on; default: made-up ones."),
    ] = None,
    portable: Portable = False,
    backbone: BackbonePlace = None,
    as_json: Json = False,
) -> None:
    """Write a model for predicting elsewhere, and check what was written against it on real images.

    .onnx is one graph from an image's bytes to scores and probabilities, for any program with an ONNX runtime; labels
    and preprocessing are in its metadata. .safetensors is a small file for foro predict and foro evaluate, which finds
    the backbone by its name; it cannot learn.

    Examples:

        foro export pets.foro pets.onnx

        foro export pets.foro pets.onnx --check photos/

        foro export pets.foro pets.safetensors
    """
    from foro.files.export import export_model
    from foro.images.paths import find_images
    from foro.verbs.reading import load_snapshot

    checked = find_images(images).images if images else None
    exported = export_model(load_snapshot(model, backbone), out, checked, portable)
    if as_json:
        content = {
            "files": [str(file) for file in exported.files],
            "bytes": exported.bytes,
            "checked_images": exported.checked_images,
            "same_labels": exported.same_labels,
            "largest_difference": exported.largest_difference,
        }
        say_json(content)
        return
    report(f"written   {', '.join(map(str, exported.files))}, {exported.bytes / 1e6:,.1f} MB")
    same = counted(exported.same_labels, "has", "have")
    report(
        f"checked   on {counted(exported.checked_images, 'image')}: {same} the same label as by the model, "
        f"probabilities differ by {exported.largest_difference:.0e} at most"
    )
