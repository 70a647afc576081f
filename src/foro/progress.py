"""Progress of long work: a bar with a rate and the time left on a terminal, silence elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]
"""Called with how much more is done."""


@contextmanager
def progress_bar(description: str, total: int, unit: str = "images") -> Iterator[Advance]:
    """A bar on standard error that ``advance(n)`` moves; nothing at all where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal or total <= 1:
        yield lambda _more: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{{task.fields[rate]}} {unit}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(description, total=total, rate="–")

        def advance(more: int) -> None:
            progress.update(task, advance=more)
            speed = progress.tasks[0].speed
            progress.update(task, rate=f"{speed:.3g}" if speed else "–")

        yield advance
