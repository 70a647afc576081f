"""Many runs: skips what is done, shares the work with other processes, shows how far the whole is."""

from __future__ import annotations

from collections.abc import Sequence

from foro.experiments.record import Record
from foro.experiments.runner import Runner
from foro.experiments.spec import RunSpec
from foro.progress import progress_bar


def run_all(runner: Runner, specs: Sequence[RunSpec], timed: bool = False) -> list[Record]:
    """The results of all runs, in their order; those that are there already are not run again.

    A mistake in any of them is found before the first one starts. Runs that another process is at are left to it, and
    waited for at the end. An interrupted call goes on where it stopped when it is made again.
    """
    names = [runner.bench.run_name(spec) for spec in specs]
    once = dict(zip(names, specs, strict=True))  # the same run may be asked for in several places
    lengths = {name: len(runner.bench.stream(spec)) for name, spec in once.items()}
    found = {name: record for name, spec in once.items() if (record := runner.finished(spec, timed))}
    missing = [name for name in once if name not in found]
    tasks = sum(lengths[name] for name in missing)
    with progress_bar(f"all runs ({len(missing)} of {len(once)} to do)", tasks, "tasks") as advance:
        for wait in (False, True):
            for name in missing:
                if name not in found and (record := runner.run(once[name], timed, wait, advance)):
                    found[name] = record
    return [found[name] for name in names]
