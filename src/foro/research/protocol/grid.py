"""Many runs: skips what is done, shares the work with other processes, shows how far the whole is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foro.research.methods.method import find_method
from foro.research.protocol.isolated import run_alone
from foro.research.protocol.record import Record
from foro.research.protocol.runner import Runner
from foro.research.protocol.spec import RunSpec
from foro.util.progress import Advance, progress_bar

Together = Callable[[Runner, Sequence[RunSpec], Advance], None]
"""Does many runs at once, and leaves each result in its file."""


def run_all(
    runner: Runner, specs: Sequence[RunSpec], timed: bool = False, together: Together | None = None
) -> list[Record]:
    """The results of all runs, in their order; those that are there already are not run again.

    A mistake in any of them is found before the first one starts. Runs that another process is at are left to it, and
    waited for at the end. An interrupted call goes on where it stopped when it is made again. ``timed`` runs are done
    one after another, each by a process of its own. ``together`` does all others at once.
    """
    names = [runner.bench.run_name(spec) for spec in specs]
    once = dict(zip(names, specs, strict=True))  # the same run may be asked for in several places
    lengths = {name: len(runner.bench.stream(spec)) for name, spec in once.items()}
    found = {name: record for name, spec in once.items() if (record := runner.finished(spec, timed))}
    missing = [name for name in once if name not in found]
    for method, overrides in ((find_method(once[name].method), once[name].overrides) for name in missing):
        method.check_installed(method.resolve(overrides))
    tasks = sum(lengths[name] for name in missing)
    with progress_bar(f"all runs ({len(missing)} of {len(once)} to do)", tasks, "tasks") as advance:
        if together is not None and not timed:
            together(runner, [once[name] for name in missing], advance)
        for wait in (False, True):  # finds what was done together
            for name in missing:
                if name in found:
                    continue
                spec = once[name]
                record = run_alone(runner, spec, wait, advance) if timed else runner.run(spec, False, wait, advance)
                if record:
                    found[name] = record
    return [found[name] for name in names]
