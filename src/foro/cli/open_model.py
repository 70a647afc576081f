"""How a command opens a model to change it, reports images that were skipped, and writes numbers and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from foro.cli.options import SKIPPED

if TYPE_CHECKING:
    from foro.durable import DurableLearner
    from foro.images.unreadable import UnreadableImage
    from foro.learner import Learner

LISTED = 10
"""Skipped images that are named; ``--json`` has all of them."""


@contextmanager
def opened(
    path: Path, wait: bool, backbone: str | None = None, create: Callable[[], Learner] | None = None
) -> Iterator[DurableLearner]:
    """A model to be changed, saved at the end; reports what was recovered, and that another process is waited for."""
    from foro.durable import DurableLearner

    def waiting() -> None:
        tell(f"waiting for another process that is changing {path}")

    with DurableLearner.open(path, create=create, backbone=backbone, wait=wait, waiting=waiting) as model:
        if model.recovered:
            tell(model.recovered)
        yield model


def tell(sentence: str) -> None:
    """A sentence beside the result, on standard error."""
    typer.echo(f"foro: {sentence}", err=True)


def end(skipped: Sequence[UnreadableImage], listed: bool = True) -> None:
    """Ends a command: lists the images that were skipped, and sets the exit code."""
    if not skipped:
        return
    if listed:
        tell(f"{len(skipped)} {'image was' if len(skipped) == 1 else 'images were'} skipped:")
        for each in skipped[:LISTED]:
            typer.echo(f"  {each.reason}", err=True)
        if len(skipped) > LISTED:
            typer.echo(f"  and {len(skipped) - LISTED} more", err=True)
    raise typer.Exit(SKIPPED)


def named(labels: Sequence[object], most: int = 8) -> str:
    """The first of the labels, and how many more."""
    shown = ", ".join(str(label) for label in labels[:most])
    return f"{shown} and {len(labels) - most} more" if len(labels) > most else shown


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 image``, ``1,234 images``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
