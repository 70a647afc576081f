"""``foro compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foro.cli.open_model import end
from foro.cli.options import Data, Json, Strict
from foro.cli.terminal import named, say, say_json, tell
from foro.errors import counted

if TYPE_CHECKING:
    from foro.evaluation import Comparison

SHOWN = 10
"""Images that are listed; ``--json`` has all of them."""
SHOWN_CLASSES = 5
CHANCE = 0.05
"""Below this p-value a difference is called one."""


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A model file.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another model file.", show_default=False)],
    data: Data,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Two models on the same labelled images: which is right more often, where they differ, and if it may be chance.

    The images should be those that neither has learned. McNemar's exact test looks at the images that only one of the
    two is right about: p is how likely a difference at least as large would be if the models were equally good.

    Examples:

        foro compare old.foro new.foro pets-test/

        foro compare nano.foro vit.foro pets-test.csv --json | jq .p_value
    """
    from foro.images.labelled import read_labelled
    from foro.verbs.reading import load_snapshot

    samples = read_labelled(data)
    found = load_snapshot(first).compare(load_snapshot(second), samples.images, samples.labels, strict)
    if as_json:
        say_json({"models": [str(first), str(second)], "data": data, **found.as_dict()})
    else:
        _show(found, str(first), str(second))
    end(found.first.bad, listed=not as_json)


def _show(found: Comparison, first: str, second: str) -> None:
    width = max(len(first), len(second), 14)
    for name, each in ((first, found.first), (second, found.second)):
        say(f"{name:<{width}}  {each.accuracy:.1%} ({int(each.right.sum())} of {counted(len(found), 'image')})")
    only = f"only {first} {found.only_first}, only {second} {found.only_second}"
    neither = len(found) - found.both - found.only_first - found.only_second
    say(f"{'right':<{width}}  both {found.both}, {only}, neither {neither}")
    verdict = "is hardly chance" if found.p_value < CHANCE else "may well be chance"
    say(f"{'McNemar’s test':<{width}}  p = {found.p_value:.2g}: the difference {verdict}")
    apart = [row for row in found.classes if row[2] != row[3]]
    for number, (label, images, one, other) in enumerate(apart[:SHOWN_CLASSES]):
        heading = "classes" if number == 0 else ""
        say(f"{heading:<{width}}  {label}: {one} and {other} of {counted(images, 'image')}")
    for number, apart_on in enumerate(found.differences[:SHOWN]):
        heading = "they differ on" if number == 0 else ""
        say(f"{heading:<{width}}  {apart_on.image} ({apart_on.label}): {apart_on.first} and {apart_on.second}")
    if len(found.differences) > SHOWN:
        say(f"{'':<{width}}  and {counted(len(found.differences) - SHOWN, 'image')} more")
    for name, each in ((first, found.first), (second, found.second)):
        if each.unknown:
            wrong = counted(sum(each.unknown.values()), "image")
            tell(f"{wrong} of labels that {name} does not know count as wrong: {named(list(each.unknown))}")
