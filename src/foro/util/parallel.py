"""A function applied by threads: results in order, and a bounded number of them in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from numpy.typing import NDArray

from foro.util.system import allowed_cores

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item] | NDArray[Any], ahead: int
) -> Generator[Result, None, None]:
    """Results in the order of the items, at most ``ahead`` of them computed in advance.

    An exception is raised in the place of its result; then, and when the caller stops, what waits is cancelled.
    """
    with ThreadPoolExecutor(min(8, allowed_cores()), thread_name_prefix="foro-decode") as pool:
        futures = (pool.submit(function, item) for item in items)
        waiting: deque[Future[Result]] = deque(islice(futures, ahead))
        try:
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(islice(futures, 1))
                yield result
        finally:
            pool.shutdown(cancel_futures=True)
