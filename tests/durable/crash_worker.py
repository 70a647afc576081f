"""A process that changes a model until it is killed.

It is warm before it is needed: for every line on its standard input it forks a child, prints the child's number, and
prints ``ended`` when the child is no more. A line has, with tabs between them: the model file; a file to which the
child adds a byte whenever a change has returned; the first of the changes to make, of one endless script; the last, or
nothing for as many as it can; and if the child is to kill itself, the step of its writing, and before, half or after.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foro import Learner
from foro.backbones import Backbone, load_backbone
from foro.durable import DurableLearner
from foro.files import journal
from tests.backbones.reference import tiny_checkpoint
from tests.conftest import textures

IMAGES, _ = textures(8)
SETTINGS: dict[str, Any] = {"policy": "none", "projection_dim": 40, "seed": 3}


def new_learner(backbone: Backbone) -> Learner:
    return Learner(backbone, **SETTINGS)


def change(model: DurableLearner | Learner, number: int) -> None:
    """One step of the script; ``save`` and the like have no counterpart in a learner without a file."""
    label, kind = f"class {number // 7 % 5}", number % 7
    if kind in (0, 1, 2):
        count, start = 1 + number % 3, number % 20
        _keyed(model, "learn", number, IMAGES[start : start + count], [label] * count)
    elif kind == 3:
        _keyed(model, "forget", number, label)
    elif kind == 4:
        _keyed(model, "restore", number, label)
    elif kind == 5:
        start = (number - 5) % 20  # the first images of this round, which were learned in step 0
        _keyed(model, "unlearn", number, IMAGES[start : start + 1], [label])
    elif isinstance(model, DurableLearner):
        model.save()


def counts_after(steps: int) -> Counter[str]:
    """How many samples of each label there are after so many steps."""
    counts: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    for number in range(steps):
        label, kind = f"class {number // 7 % 5}", number % 7
        if kind in (0, 1, 2):
            counts[label] += 1 + number % 3
        elif kind == 3:
            hidden[label] = counts.pop(label)
        elif kind == 4:
            counts[label] += hidden.pop(label)
        elif kind == 5:
            counts[label] -= 1
    return counts


def _keyed(model: DurableLearner | Learner, what: str, number: int, *arguments: Any) -> None:
    how: dict[str, Any] = {"key": str(number)} if isinstance(model, DurableLearner) else {}
    if what == "learn":
        how["again"] = True  # rounds have images in common
    getattr(model, what)(*arguments, **how)


def _work(backbone: Backbone, path: str, acks: str, first: int, steps: int | None) -> None:
    handle = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    model = DurableLearner.open(path, create=lambda: new_learner(backbone), backbone=backbone)
    number = first
    while steps is None or number < steps:
        change(model, number)
        os.write(handle, b".")
        number += 1
    model.close()


def _die_at(step: int, when: str) -> None:
    """Makes this process kill itself before or after a step of its writing, or when half of a record is written."""
    done = 0

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> None:
            nonlocal done
            done += 1
            now = done == step
            if now and when == "half" and function is write_all:
                write_all(arguments[0], arguments[1][: len(arguments[1]) // 2])
            if not now or when == "after":
                function(*arguments, **more)
            if now:
                os.kill(os.getpid(), signal.SIGKILL)

        return call

    write_all = journal._write_all
    journal._write_all = dying(write_all)
    os.fsync, os.replace, Path.unlink = dying(os.fsync), dying(os.replace), dying(Path.unlink)


def main() -> None:
    warnings.simplefilter("ignore")
    backbone = load_backbone(tiny_checkpoint(), threads=1)
    new_learner(backbone).learn(IMAGES[:4], ["warm"] * 4)
    print("ready", flush=True)
    for line in sys.stdin:
        path, acks, first, steps, *kill = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            try:
                if kill:
                    _die_at(int(kill[0]), kill[1])
                _work(backbone, path, acks, int(first), int(steps) if steps else None)
            except BaseException as error:
                print(f"error {error!r}", flush=True)
                os._exit(3)
            os._exit(0)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print("ended", os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
