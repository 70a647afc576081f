"""Workers that are killed in the middle: their share is done again by others, and nothing is counted twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from foro import Learner
from foro.adaptation.search import Verdict
from foro.cluster import RayEngine
from foro.cluster.counting import Counting, Holdings
from foro.cluster.pool import Pool
from foro.errors import EngineError
from tests.cluster.conftest import assert_same
from tests.conftest import textures

SETTINGS = {"projection_dim": 96, "policy": "none"}
QUICK = {"projection_dim": 64, "generations": 3, "population": 4, "search_images": 32, "search_price": 10.0}
IMAGES, LABELS = textures(128)


def test_a_shard_is_held_by_one_living_worker_or_missing() -> None:
    holdings = Holdings(5)
    for worker, shard in ((0, 0), (1, 1), (0, 2), (2, 3)):
        holdings.credit(worker, shard, images=10)
    assert holdings.missing(5) == [4]
    assert holdings.missing(4) == []
    holdings.move(giver=1, taker=0)
    assert holdings.holders == [0, 2]
    assert holdings.lose(0) == 30
    assert holdings.lose(1) == 0
    assert holdings.missing(5) == [0, 1, 2, 4]
    with pytest.raises(AssertionError, match="shard 3 was counted twice"):
        holdings.credit(7, 3, images=10)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str, int], list[int]]:
    """Makes a method kill the process of a worker, with SIGKILL, when it is called for the n-th time."""
    pools: list[Pool] = []
    usual = Pool.__init__

    def remember(self: Pool, *arguments: Any) -> None:
        pools.append(self)
        usual(self, *arguments)

    monkeypatch.setattr(Pool, "__init__", remember)

    def arrange(kind: type, method: str, call: int) -> list[int]:
        original = getattr(kind, method)
        calls: list[int] = []
        victims: list[int] = []

        def wrapped(self: Any, *arguments: Any) -> Any:
            calls.append(1)
            if len(calls) == call:
                # Whoever has already counted something, if anybody has.
                held = next((each._holdings.holders for each in (self,) if isinstance(self, Counting)), [])
                number = held[-1] if held else min(pools[-1].members)
                victims.append(pools[-1].places[number].process)
                os.kill(victims[-1], signal.SIGKILL)
            return original(self, *arguments)

        monkeypatch.setattr(kind, method, wrapped)
        return victims

    return arrange


@pytest.mark.parametrize(
    ("method", "call"),
    [
        pytest.param("_settle_one", 3, id="while it absorbs"),
        pytest.param("_reduce", 1, id="before it hands over"),
    ],
)
@pytest.mark.ray
@pytest.mark.xdist_group("ray")
def test_a_killed_worker_costs_time_and_nothing_else(
    ray: Any, tiny_folder: Path, killed: Callable[..., list[int]], method: str, call: int
) -> None:
    local = Learner(tiny_folder, **SETTINGS)
    local.learn(IMAGES, LABELS)
    lost: list[int] = []
    victims = killed(Counting, method, call)
    usual = Holdings.lose
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Holdings, "lose", lambda self, worker: lost.append(usual(self, worker)) or lost[-1])
        shared = Learner(tiny_folder, engine=RayEngine(workers=2, shard_images=64), **SETTINGS)
        report = shared.learn(IMAGES, LABELS)
    assert len(victims) == 1
    assert sum(lost) >= 64  # the worker had counted something, which was counted again by others
    assert report.samples == shared.head.samples == len(IMAGES)
    assert_same(shared.head, local.head)
    assert shared.predict(IMAGES) == local.predict(IMAGES)


@pytest.mark.ray
@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("adaptation", ["prompt", "gains"])
def test_a_worker_killed_while_candidates_evolve_changes_nothing(
    ray: Any,
    tiny_folder: Path,
    killed: Callable[..., list[int]],
    adaptation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Verdict, "kept", property(lambda _: True))
    local = Learner(tiny_folder, **QUICK, adaptation=adaptation)
    expected = local.learn(IMAGES, LABELS)
    victims = killed(Pool, "map", 3)  # the neutral candidate and the first generation are through
    shared = Learner(tiny_folder, engine=RayEngine(workers=2), **QUICK, adaptation=adaptation)
    report = shared.learn(IMAGES, LABELS)
    assert len(victims) == 1
    assert not shared.candidate.neutral
    assert shared.candidate.same_as(local.candidate)
    assert (report.generations, report.forward_passes) == (expected.generations, expected.forward_passes)
    assert_same(shared.head, local.head)


@pytest.mark.ray
@pytest.mark.xdist_group("ray")
def test_workers_that_keep_dying_are_an_error_and_the_learner_stays_as_it_was(
    ray: Any, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foro.cluster.pool.MOST_DEATHS", 0)
    usual = Pool.idlest

    def kill(self: Pool, busy: Any) -> Any:
        member = usual(self, busy)
        with suppress(ProcessLookupError):  # it is dead already
            os.kill(self.places[member.number].process, signal.SIGKILL)
        return member

    monkeypatch.setattr(Pool, "idlest", kill)
    learner = Learner(tiny_folder, engine=RayEngine(workers=1), **SETTINGS)
    with pytest.raises(EngineError, match=r"2 workers died, the last one \(process \d+ on .*\) of this: "):
        learner.learn(IMAGES, LABELS)
    assert learner.labels == []
    assert learner.head.samples == 0
