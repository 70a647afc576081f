"""``foro merge``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foro.cli.options import BackbonePlace, Json
from foro.cli.terminal import report, say_json
from foro.errors import counted


def merge(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL", help="Model files.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The merged model, a new file.", show_default=False)],
    again: Annotated[
        bool, typer.Option("--again", help="Let images that several models have learned count as often.")
    ] = False,
    backbone: BackbonePlace = None,
    as_json: Json = False,
) -> None:
    """Make the model that would have learned everything that these have learned, exactly.

    They must have the same backbone, adaptation and projection: teach the second with --like the first. A model all of
    whose images are in another adds nothing; two that share only some cannot be taken apart, and are refused.

    Examples:

        foro merge south.foro north.foro -o country.foro

        foro merge week1.foro week2.foro week3.foro -o all.foro --json
    """
    from foro.verbs.merge_models import merge_models

    learner = merge_models(models, out, backbone, again)
    if as_json:
        say_json({"model": str(out), "labels": learner.labels, "samples": learner.head.samples})
        return
    known = counted(len(learner.labels), "class", "classes")
    report(f"{out} knows {known} from {counted(learner.head.samples, 'image')}")
