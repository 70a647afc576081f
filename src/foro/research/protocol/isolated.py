"""A run in a process of its own: the memory it needs, and no other run's."""

from __future__ import annotations

from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from foro.errors import FoRoError
from foro.research.methods.method import Settings
from foro.research.protocol.bench import Bench, DataOptions
from foro.research.protocol.record import Record, read_record
from foro.research.protocol.runner import Runner
from foro.research.protocol.spec import RunSpec
from foro.util.progress import Advance, without_bars

Source = tuple[str, int | None, DataOptions]
"""What a bench is made of."""


def run_alone(runner: Runner, spec: RunSpec, wait: bool, advance: Advance) -> Record | None:
    """What ``runner.run(spec, timed=True)`` returns, done by a new process that does nothing else.

    A process never gives all of its memory back, nor the libraries that it once loaded: in one that has done other
    runs before, a peak would be partly theirs.
    """
    if record := runner.finished(spec, timed=True):
        return record
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    bench = runner.bench
    source = (bench.source, bench.wanted_size, bench.data)
    process = context.Process(target=_run, args=(theirs, source, runner.folder, runner.common, spec, wait))
    process.start()
    theirs.close()
    try:
        while True:
            kind, value = ours.recv()
            if kind == "advance":
                advance(value)
            elif kind == "error":
                raise value
            else:
                return None if value is None else read_record(value)
    except EOFError:
        process.join()
        raise FoRoError(
            f"the process that ran {spec.method} ended with code {process.exitcode} before it had a result; "
            "it may have run out of memory"
        ) from None
    finally:
        process.join()


def _run(answers: Connection, source: Source, folder: Path, common: Settings, spec: RunSpec, wait: bool) -> None:
    """What the process does: tells how far it is, and in the end where the result is."""
    runner = Runner(Bench(*source), folder, common=common, alone=True)
    try:
        with without_bars():  # the process that waits for this one has the screen
            record = runner.run(spec, True, wait, lambda more: answers.send(("advance", more)))
        answers.send(("result", record and record.path))
    except FoRoError as error:
        answers.send(("error", error))
    except KeyboardInterrupt:
        pass  # both processes got it, and the other one says so
