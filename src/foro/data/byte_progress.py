"""Progress of work that is measured in bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from foro.progress import progress_bar

_MEBIBYTE = 2**20


@contextmanager
def byte_progress(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar in MiB; the function it gives is called with the position in bytes that has been reached."""
    shown = 0
    with progress_bar(description, total // _MEBIBYTE, "MiB") as advance:

        def reached(position: int) -> None:
            nonlocal shown
            more = position // _MEBIBYTE - shown
            if more:
                shown += more
                advance(more)

        yield reached
