"""``foro forget``."""

from __future__ import annotations

from typing import Annotated

import typer

from foro.cli.open_model import opened
from foro.cli.options import BackbonePlace, Json, Model, Wait
from foro.cli.terminal import named, report, say_json
from foro.errors import counted


def forget(
    model: Model,
    labels: Annotated[list[str], typer.Argument(metavar="LABEL", help="Labels, as they are.", show_default=False)],
    undo: Annotated[bool, typer.Option("--undo", help="Know the labels again, as if nothing had happened.")] = False,
    backbone: BackbonePlace = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Never predict these labels again. All of them, or none if one is not known.

    What their images say about other labels stays; to take that back too, unlearn the images.

    Examples:

        foro forget pets.foro dog "Maine Coon"

        foro forget pets.foro dog --undo

        foro forget numbers.foro -- -1
    """
    from foro.labels import find_labels

    with opened(model, wait, backbone) as durable:
        learner = durable.learner
        known = learner.head.forgotten if undo else learner.labels
        what = "was not forgotten; forgotten labels are" if undo else "is not known; known labels are"
        for label in find_labels(labels, known, what):
            durable.restore(label) if undo else durable.forget(label)
    learner = durable.learner
    if as_json:
        content = {"model": str(model), "restored" if undo else "forgotten": labels, "labels": learner.labels}
        say_json({**content, "recovered": durable.recovered})
        return
    report(f"{'known again' if undo else 'forgotten'}: {named(labels)}")
    report(f"{model} knows {counted(len(learner.labels), 'class', 'classes')}")
