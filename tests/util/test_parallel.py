from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

import pytest

from foro.util import parallel
from foro.util.parallel import ordered_map, spread, step_back


@pytest.fixture(params=[1, 2, 4])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(parallel, "thread_count", lambda: request.param)
    return int(request.param)


class AtWork:
    """Counts the threads that are inside a call at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = self.most = 0

    def __call__(self, item: int) -> int:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.002 * (item % 3))
        with self._lock:
            self._now -= 1
        return item


def test_results_come_in_order_and_never_far_ahead(threads: int) -> None:
    started: list[int] = []
    work = AtWork()

    def slow(item: int) -> int:
        started.append(item)
        return work(item)

    for taken, item in enumerate(ordered_map(slow, range(40), ahead=5)):
        assert item == taken
        assert len(started) <= taken + 1 + 5
    assert 1 <= work.most <= threads


def test_an_error_comes_in_its_place_and_stops_the_rest(threads: int) -> None:
    started: list[int] = []

    def fails(item: int) -> int:
        started.append(item)
        if item == 3:
            raise ValueError("three")
        return item

    results = ordered_map(fails, range(1000), ahead=4)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)
    assert len(started) <= 8


def test_a_caller_who_stops_early_leaves_nothing_to_do(threads: int) -> None:
    started: list[int] = []
    results = ordered_map(lambda item: started.append(item), range(1000), ahead=4)
    next(results)
    results.close()
    time.sleep(0.05)
    before = len(started)
    time.sleep(0.05)
    assert len(started) == before <= 6


def test_pieces_are_shared_out(threads: int) -> None:
    work = AtWork()
    assert spread(work, range(30)) == list(range(30))
    assert work.most <= threads
    alone = AtWork()
    assert spread(alone, range(5), threads=1) == list(range(5))
    assert alone.most == 1
    assert spread(work, []) == []


def test_pieces_of_pieces_end(threads: int) -> None:
    work = AtWork()
    assert spread(lambda item: sum(spread(work, range(item))), range(10)) == [sum(range(item)) for item in range(10)]


def test_an_error_in_a_piece_reaches_the_caller(threads: int) -> None:
    def fails(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    with pytest.raises(ValueError, match="three"):
        spread(fails, range(6))


@pytest.mark.parametrize("together", [spread, lambda function, items: list(ordered_map(function, items, ahead=4))])
def test_an_interrupt_is_not_kept_for_later(together: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 1)
    called: list[int] = []

    def interrupted(item: int) -> None:
        called.append(item)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        together(interrupted, range(10))
    assert called == [0]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a niceness on Linux only")
def test_helpers_of_a_thread_that_steps_back_do_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 3)
    found: set[int] = set()

    def niceness(_: int) -> None:
        time.sleep(0.01)
        found.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    def background() -> None:
        step_back(15)
        spread(niceness, range(12))

    thread = threading.Thread(target=background)
    thread.start()
    thread.join()
    assert found == {15}
