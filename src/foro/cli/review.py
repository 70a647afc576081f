"""``foro review``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foro.cli.open_model import end
from foro.cli.options import BackbonePlace, Data, Json, Model, Strict
from foro.cli.terminal import named, say, say_json, tell
from foro.errors import counted

if TYPE_CHECKING:
    from foro.verbs.reviewing import Review

SHOWN = 5
"""Pairs of classes, pairs of copies and classes that are listed; ``--json`` and ``--html`` have more."""


def review(
    model: Model,
    data: Data,
    html: Annotated[Path | None, typer.Option(help="Write a page with thumbnails of the images.")] = None,
    most: Annotated[int, typer.Option(min=1, help="Doubted images to list; --json has all of them.")] = 20,
    backbone: BackbonePlace = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Which images are likely labelled wrong, which classes are confused, which images are copies, and what to add.

    An image that was learned is judged as if neither it nor a copy of it among DATA had been. A label is called wrong
    with the chance that follows from what the model says of the image and from the share of wrong labels, which is
    estimated from all of them. Nothing is changed: foro learn --relabel teaches corrected images.

    Examples:

        foro review pets.foro pets/

        foro review pets.foro pets/ --html review.html

        foro review pets.foro pets/ --json | jq -r ".doubts[].image"
    """
    from foro.images.labelled import read_labelled
    from foro.learner import Learner
    from foro.verbs.reviewing import review as judge

    samples = read_labelled(data)
    found = judge(Learner.load(model, backbone), samples, strict)
    if html is not None:
        from foro.verbs.review_page import write_review

        write_review(found, model.name, Path(data).name, html)
    if as_json:
        say_json({"model": str(model), "data": data, **found.as_dict()})
    else:
        _show(found, most)
        if html is not None:
            say(f"written       {html}")
    end(found.skipped, listed=not as_json)


def _show(found: Review, most: int) -> None:
    say(f"images        {len(found)}: {found.learned} learned, {len(found) - found.learned} new to the model")
    say(f"wrong labels  {found.likely_wrong} likely; about {found.noise:.1%} of all by estimate")
    for each in found.doubts[:most]:
        learned = "" if each.learned in (None, each.label) else f", learned as {each.learned}"
        say(f"{'':<14}{each.image}: {each.label} is {each.wrong:.0%} wrong, rather {each.suggested}{learned}")
    if len(found.doubts) > most:
        say(f"{'':<14}and {len(found.doubts) - most} more in doubt")
    for number, pair in enumerate(found.confusable[:SHOWN]):
        heading = "confusable" if number == 0 else ""
        say(
            f"{heading:<14}{pair.first} and {pair.second}, about {pair.confused:.1f} of {counted(pair.images, 'image')}"
        )
    for number, copy in enumerate(found.copies[:SHOWN]):
        heading = "copies" if number == 0 else ""
        labels = f"{copy.label} and {copy.other_label}" if copy.label != copy.other_label else copy.label
        say(f"{heading:<14}{copy.image} and {copy.other} ({labels})")
    if len(found.copies) > SHOWN:
        say(f"{'':<14}and {counted(len(found.copies) - SHOWN, 'pair')} more")
    for number, need in enumerate(found.needs[:SHOWN]):
        text = f"of {need.label}, which has {need.learned}: mistakes {need.mistakes:.0%} → {need.mistakes_after:.0%}"
        say(f"more images   20 more {text} (would help most)" if number == 0 else f"{'':<14}20 more {text}")
    if found.alone:
        images = counted(sum(found.alone.values()), "image")
        tell(
            f"{images} could not be judged, the model has learned no other of their labels: {named(list(found.alone))}"
        )
