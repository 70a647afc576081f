"""Progress of long work: a bar with a rate and the time left on a terminal, silence elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Batch = TypeVar("Batch", bound=Sized)
Advance = Callable[[int], None]
"""Called with the number of further items that are done."""

_DISPLAY: ContextVar[Progress | None] = ContextVar("display", default=None)
"""The display on the screen: a bar within a bar is another row of it."""

_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def without_bars() -> Iterator[None]:
    """No bars, terminal or not: for a process that works for another one, which has the screen."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


@contextmanager
def quiet(library: str) -> Iterator[None]:
    """Silences a library's own reports: progress is shown in one place, and errors are one sentence."""
    logger = logging.getLogger(library)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def progress_bar(description: str, total: int, unit: str = "images") -> Iterator[Advance]:
    """A bar on standard error that ``advance(n)`` moves; nothing where that is no terminal."""
    display = _DISPLAY.get()
    if total <= 1 or _SILENT.get() or (display is None and not _is_terminal()):
        yield lambda _more: None
    elif display is not None:
        with _row(display, description, total, unit) as advance:
            yield advance
    else:
        with _display() as opened, _row(opened, description, total, unit) as advance:
            token = _DISPLAY.set(opened)
            try:
                yield advance
            finally:
                _DISPLAY.reset(token)


def progress_of(batches: Iterable[Batch], total: int, description: str) -> Iterator[Batch]:
    """The batches as they are, with a bar that moves by the length of each."""
    with progress_bar(description, total) as advance:
        for batch in batches:
            yield batch
            advance(len(batch))


def _is_terminal() -> bool:
    from rich.console import Console

    return Console(stderr=True).is_terminal


def _display() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=24 * 3600,  # steps may be minutes apart, and all of them count for the estimate
    )


@contextmanager
def _row(display: Progress, description: str, total: int, unit: str) -> Iterator[Advance]:
    row = display.add_task(description, total=total, rate="–")

    def advance(more: int) -> None:
        display.update(row, advance=more)
        speed = next(task.speed for task in display.tasks if task.id == row)
        display.update(row, rate=_rate(speed, unit))

    try:
        yield advance
    finally:
        display.remove_task(row)


def _rate(speed: float | None, unit: str) -> str:
    if not speed:
        return "–"
    return f"{speed:.3g} {unit}/s" if speed >= 0.1 else f"{60 * speed:.2g} {unit}/min"


_MEBIBYTE = 2**20


@contextmanager
def byte_progress(description: str, total: int) -> Iterator[Advance]:
    """A bar in MiB; its function is called with the position in bytes that has been reached."""
    shown = 0
    with progress_bar(description, total // _MEBIBYTE, "MiB") as advance:

        def reached(position: int) -> None:
            nonlocal shown
            more = position // _MEBIBYTE - shown
            if more:
                shown += more
                advance(more)

        yield reached
