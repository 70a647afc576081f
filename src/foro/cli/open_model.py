"""How a command opens a model to change it, and reports images that were skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from foro.cli.options import SKIPPED
from foro.cli.terminal import tell
from foro.errors import counted

if TYPE_CHECKING:
    from foro.durable import DurableLearner
    from foro.images.unreadable import UnreadableImage
    from foro.learner import Learner

LISTED = 10
"""Skipped files that are named; ``--json`` has all of them."""


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


def tell_doubts(passed_over: Sequence[object], notes: Sequence[str]) -> None:
    """Names files that are no images of a class, and says what looks like a mistake."""
    if passed_over:
        what = counted(len(passed_over), "file was", "files were")
        why = "no image, not a regular file, or in no class folder"
        tell(f"{what} passed over ({why}):", first_of([str(path) for path in passed_over]))
    for note in notes:
        tell(note)


def first_of(lines: Sequence[str]) -> list[str]:
    """The first lines of a list, and how many more there are."""
    return [*lines[:LISTED], *([f"and {len(lines) - LISTED} more"] if len(lines) > LISTED else [])]


def end(skipped: Sequence[UnreadableImage], listed: bool = True) -> None:
    """Ends a command: lists the images that were skipped, and sets the exit code."""
    if not skipped:
        return
    if listed:
        reasons = first_of([each.reason for each in skipped])
        tell(f"{counted(len(skipped), 'image was', 'images were')} skipped:", reasons)
    raise typer.Exit(SKIPPED)
