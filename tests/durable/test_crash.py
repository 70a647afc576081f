"""Killed at any moment, a writer leaves the old state or the new one: nothing lost, half-written or counted twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foro import Learner
from foro.backbones import Backbone
from foro.durable import DurableLearner
from foro.errors import ModelFileError
from tests.durable.crash_worker import change, counts_after, new_learner
from tests.durable.test_durable import same

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")

KILLS = 200
KILLS_A_MODEL = 25


class Worker:
    """The process of ``tests/models/crash_worker.py``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.durable.crash_worker"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def start(self, path: Path, acks: Path, first: int, steps: int | None = None, *kill: object) -> int:
        """Starts a child that makes changes; returns its process."""
        assert self._process.stdin is not None
        words = [path, acks, first, "" if steps is None else steps, *kill]
        self._process.stdin.write("\t".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def end(self) -> int:
        """Waits for the child; returns its exit code, or minus the signal that ended it."""
        line = self._line()
        assert line.startswith("ended"), line
        return int(line.split()[1])

    def close(self) -> None:
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


class Reference:
    """What a learner knows that made the same changes and was never killed; asked for ever more of them."""

    def __init__(self, backbone: Backbone) -> None:
        self._learner = new_learner(backbone)
        self._done = 0

    def __call__(self, steps: int) -> Learner:
        for number in range(self._done, steps):
            change(self._learner, number)
        self._done = max(self._done, steps)
        assert self._done == steps
        return self._learner


def check(path: Path, acks: Path, backbone: Backbone, expected: Callable[[int], Learner], first: int) -> int:
    """The model is in the state of what was acknowledged, or of one change more; returns how many changes that is."""
    acknowledged = first + acknowledgements(acks)
    acks.unlink(missing_ok=True)
    create = None if acknowledged else lambda: new_learner(backbone)
    with DurableLearner.open(path, create=create, backbone=backbone, wait=False) as model:
        if not model.learner.labels:  # killed before the first change was on the disk
            model.save()
        learner = model.learner
    last = max((int(key) for key in learner.ledger.keys), default=-1)
    done = max(acknowledged, last + 1)
    assert done <= acknowledged + 1
    assert learner.head.counts == counts_after(done)
    same(learner, expected(done), exactly=False)
    left = {each.name for each in path.parent.iterdir()}  # no lock, no journal, nothing temporary
    assert left - {f"{path.name}.undo"} == {path.name}
    return done


def acknowledgements(acks: Path) -> int:
    return acks.stat().st_size if acks.exists() else 0


def test_two_hundred_kills_at_random_moments(worker: Worker, tiny_backbone: Backbone, tmp_path: Path) -> None:
    generator = random.Random(0)
    acks, kills, changes = tmp_path / "acks", 0, 0
    for model in range(KILLS // KILLS_A_MODEL):
        folder = tmp_path / str(model)
        folder.mkdir()
        reference, done = Reference(tiny_backbone), 0
        for _ in range(KILLS_A_MODEL):
            started = time.monotonic()
            child = worker.start(folder / "m.foro", acks, done)
            # Moments are measured in changes, so that they are as evenly spread on a slow machine.
            wanted = generator.randrange(8)
            while acknowledgements(acks) < wanted:
                time.sleep(0.0005)
            time.sleep(generator.random() * (time.monotonic() - started) / (wanted + 1))
            os.kill(child, signal.SIGKILL)
            assert worker.end() == -signal.SIGKILL
            before, done = done, check(folder / "m.foro", acks, tiny_backbone, reference, done)
            kills, changes = kills + 1, changes + done - before
    assert kills == KILLS
    assert changes > 2 * KILLS


def test_a_kill_at_every_single_step_of_writing(worker: Worker, tiny_backbone: Backbone, tmp_path: Path) -> None:
    """Two changes, a save, and all the rest of the script's first round, cut off at each write, sync and rename."""
    acks, steps = tmp_path / "acks", 8
    expected = [Reference(tiny_backbone)(done) for done in range(steps + 1)]
    for when in ("before", "half", "after"):
        step, survived = 1, False
        while not survived:
            folder = tmp_path / f"{step} {when}"
            folder.mkdir()
            worker.start(folder / "m.foro", acks, 0, steps, step, when)
            survived = worker.end() == 0
            check(folder / "m.foro", acks, tiny_backbone, expected.__getitem__, 0)
            step += 1
        assert step > 3 * steps  # each change is some writes and a sync


def test_readers_see_whole_states_while_a_writer_writes(
    worker: Worker, tiny_backbone: Backbone, tmp_path: Path
) -> None:
    path, acks, steps = tmp_path / "m.foro", tmp_path / "acks", 150
    with DurableLearner.open(path, create=lambda: new_learner(tiny_backbone)) as model:
        change(model, 0)
    worker.start(path, acks, 1, steps)
    seen = [1]
    while seen[-1] < steps - 2:
        acknowledged = 1 + acknowledgements(acks)
        learner = Learner.load(path, tiny_backbone)
        state = learner.ledger.sequence
        changes = [number for number in range(steps) if number % 7 != 6]  # all but saving
        done = changes[state - 1] + 1
        assert learner.head.counts == counts_after(done)
        assert done >= seen[-1]
        assert done >= acknowledged - 1  # a save at the end of those is not in the sequence
        seen.append(done)
    assert worker.end() == 0
    assert Learner.load(path, tiny_backbone).head.counts == counts_after(steps)


def test_writers_in_two_processes_take_turns(worker: Worker, tiny_backbone: Backbone, tmp_path: Path) -> None:
    path, acks = tmp_path / "m.foro", tmp_path / "acks"
    child = worker.start(path, acks, 0)
    while acknowledgements(acks) < 5:
        time.sleep(0.001)
    with pytest.raises(ModelFileError, match="is being changed by another process"):
        DurableLearner.open(path, backbone=tiny_backbone, wait=False)
    os.kill(child, signal.SIGKILL)
    worker.end()
    with DurableLearner.open(path, backbone=tiny_backbone) as model:  # the lock of a killed process is free
        assert model.recovered is None or "journal" in model.recovered or "discarded" in model.recovered
        done = max(int(key) for key in model.learner.ledger.keys) + 1
        assert model.learner.head.counts == counts_after(done)
