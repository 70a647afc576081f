"""Many runs: skips what is done, shares the work with other processes, shows how far the whole is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection

from foro.errors import FoRoError
from foro.research.protocol.method_catalog import find_method
from foro.research.protocol.record import Record, read_record
from foro.research.protocol.runner import Runner
from foro.research.protocol.spec import RunSpec
from foro.util.progress import Advance, progress_bar, without_bars

Parallel = Callable[[Runner, Sequence[RunSpec], Advance], None]
"""Does many runs in parallel, and leaves each result in its file."""


def run_all(
    runner: Runner, specs: Sequence[RunSpec], timed: bool = False, parallel: Parallel | None = None
) -> list[Record]:
    """The results of all runs, in their order; those that are there already are not run again.

    A mistake in any of them is found before the first one starts. Runs that another process is working on are left to
    it, and waited for at the end. After an interruption the same call continues where it stopped. ``timed`` runs are
    done one after another, each in a process of its own; all others are done by ``parallel``, if it is given.
    """
    names = [runner.setup.run_name(spec) for spec in specs]
    once = dict(zip(names, specs, strict=True))  # several cells of a table may need the same run
    lengths = {name: len(runner.setup.stream(spec)) for name, spec in once.items()}
    found = {name: record for name, spec in once.items() if (record := runner.finished(spec, timed))}
    missing = [name for name in once if name not in found]
    for method, overrides in ((find_method(once[name].method), once[name].overrides) for name in missing):
        method.check_installed(method.resolve(overrides))
    tasks = sum(lengths[name] for name in missing)
    with progress_bar(f"all runs ({len(missing)} of {len(once)} to do)", tasks, "tasks") as advance:
        if parallel is not None and not timed:
            parallel(runner, [once[name] for name in missing], advance)
        for wait in (False, True):  # after a parallel run, this finds its results
            for name in missing:
                if name in found:
                    continue
                if timed:
                    record = run_in_own_process(runner, once[name], wait, advance)
                else:
                    record = runner.run(once[name], False, wait, advance)
                if record:
                    found[name] = record
    return [found[name] for name in names]


def run_in_own_process(runner: Runner, spec: RunSpec, wait: bool, advance: Advance) -> Record | None:
    """What ``runner.run(spec, timed=True)`` returns, done by a new process that does nothing else.

    A process never gives all of its memory back, nor the libraries that it once loaded: in one that has done other
    runs before, a peak would be partly theirs.
    """
    if record := runner.finished(spec, timed=True):
        return record
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    sent = replace(runner, setup=runner.setup.unloaded(), cache=None, own_process=True)
    process = context.Process(target=_run, args=(theirs, sent, spec, wait))
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


def _run(messages: Connection, runner: Runner, spec: RunSpec, wait: bool) -> None:
    """What the process does: sends how far it is, and in the end where the result is."""
    try:
        with without_bars():  # the screen belongs to the process that waits for this one
            record = runner.run(spec, True, wait, lambda more: messages.send(("advance", more)))
        messages.send(("result", record and record.path))
    except FoRoError as error:
        messages.send(("error", error))
    except KeyboardInterrupt:
        pass  # both processes got it, and the other one reports it
