"""``foro rename``."""

from __future__ import annotations

from typing import Annotated

import typer

from foro.cli.open_model import opened
from foro.cli.options import BackbonePlace, Json, Model, Wait
from foro.cli.terminal import report, say_json
from foro.errors import counted


def rename(
    model: Model,
    old: Annotated[str, typer.Argument(metavar="OLD", help="A label, as it is.", show_default=False)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What it is called from now on.", show_default=False)],
    backbone: BackbonePlace = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Call a label something else. If NEW is known too, both become one, as if learned so from the start.

    Examples:

        foro rename pets.foro "main coon" "Maine Coon"

        foro rename pets.foro puppy dog          # one class from now on
    """
    from foro.labels import find_label, find_labels

    with opened(model, wait, backbone) as durable:
        (label,) = find_labels([old], durable.learner.labels, "is not known; known labels are")
        joined = find_label(new, durable.learner.labels) is not None
        durable.rename(label, new)
    learner = durable.learner
    samples = learner.head.counts[learner.head.known_as([new])[0]]
    if as_json:
        content = {"model": str(model), "renamed": old, "to": new, "joined": joined, "samples": samples}
        say_json({**content, "labels": learner.labels, "recovered": durable.recovered})
        return
    report(f"renamed   {old} to {new}{', which was known: both are one class now' if joined else ''}")
    report(f"{new} has {counted(samples, 'image')}; {model} knows {counted(len(learner.labels), 'class', 'classes')}")
