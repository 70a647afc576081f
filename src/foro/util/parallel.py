"""Work in pieces, for as many threads as there are cores: the caller's own, and helpers that all callers share.

A caller never waits for a helper that is busy elsewhere, but takes the piece itself. So a piece may be cut further, and
one caller never has more threads at work than there are cores.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from foro.util.threads import thread_count

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Piece(Generic[Item, Result]):
    """A call that is made once, by the first thread that takes it."""

    def __init__(self, function: Callable[[Item], Result], item: Item) -> None:
        self._function, self._item = function, item
        self._taken = threading.Lock()
        self.result: Future[Result] = Future()

    def take(self) -> bool:
        """Makes the call, unless another thread has taken it."""
        if not self._taken.acquire(blocking=False):
            return False
        try:
            self.result.set_result(self._function(self._item))
        except BaseException as error:
            self.result.set_exception(error)
            if not isinstance(error, Exception):
                raise  # an interrupt is for the caller, at once
        return True


def spread(
    function: Callable[[Item], Result], items: Iterable[Item] | NDArray[Any], threads: int | None = None
) -> list[Result]:
    """Results in the order of the items, by at most so many threads; None: one for each core."""
    pieces = [_Piece(function, item) for item in items]
    waiting = deque(pieces)

    def work() -> None:
        while waiting:
            try:
                piece = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            piece.take()

    most = thread_count() if threads is None else min(threads, thread_count())
    helping = [_helpers().submit(work) for _ in range(min(most, len(pieces)) - 1)]
    try:
        work()
        return [piece.result.result() for piece in pieces]
    finally:
        waiting.clear()
        for each in helping:
            each.cancel()


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item] | NDArray[Any], ahead: int
) -> Generator[Result, None, None]:
    """Results in the order of the items, at most ``ahead`` of them computed in advance.

    An exception is raised in the place of its result; then, and when the caller stops, what waits is cancelled.
    """
    waiting: deque[tuple[_Piece[Item, Result], Future[bool] | None]] = deque()

    def pieces() -> Generator[tuple[_Piece[Item, Result], Future[bool] | None], None, None]:
        for item in items:
            piece = _Piece(function, item)
            yield piece, _helpers().submit(piece.take) if thread_count() > 1 else None

    source = pieces()
    waiting.extend(islice(source, ahead))
    try:
        while waiting:
            result = waiting[0][0].result
            # Whoever waits for a piece computes another one meanwhile.
            while not result.done() and any(piece.take() for piece, _ in waiting):
                pass
            waiting.popleft()
            waiting.extend(islice(source, 1))
            yield result.result()
    finally:
        for _, helping in waiting:
            if helping is not None:
                helping.cancel()


def step_back(niceness: int) -> None:
    """Lets other threads have the processor before this one and its helpers, where a thread can say so."""
    _own.niceness = niceness
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


_own = threading.local()


def _helpers() -> ThreadPoolExecutor:
    return _pool(thread_count() - 1, getattr(_own, "niceness", 0))


@cache
def _pool(count: int, niceness: int) -> ThreadPoolExecutor:
    start = partial(step_back, niceness) if niceness else None
    return ThreadPoolExecutor(count, thread_name_prefix="foro-helper", initializer=start)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
