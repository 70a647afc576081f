"""Tables of a study: of new runs, or of stored records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from foro.research.methods.method import Settings
from foro.research.protocol.grid import run_all
from foro.research.protocol.method_catalog import check_shared, find_method, list_methods, overrides_for
from foro.research.protocol.record import Record
from foro.research.protocol.runner import Runner
from foro.research.protocol.spec import RunSpec, tasks_text
from foro.research.studies.study import Choice, Request, Study
from foro.research.studies.table import Table


def run_study(study: Study, choice: Choice, runner: Runner, seeds: Sequence[int], run: bool = True) -> Table:
    """The table of a study; with ``run``, after running what is missing.

    The runner's common settings apply to every method that has them, unless the setting defines the method.
    """

    def specs(request: Request) -> list[RunSpec]:
        overrides = overrides_for(request.method, {**runner.common, **request.settings})
        named = (request.dataset, request.tasks, request.method)
        return [RunSpec(*named, seed, overrides, request.blur, request.imbalance) for seed in seeds]

    requests = study.requests(choice)
    if methods := list(dict.fromkeys(request.method for request in requests)):
        check_shared(methods, runner.common)
    if run:
        run_all(runner, [spec for request in requests for spec in specs(request)], study.timed)
    table = study.build(choice, lambda request: [each for spec in specs(request) if (each := runner.finished(spec))])
    return replace(table, notes=(*table.notes, *_not_run(requests, specs, runner)))


def _not_run(requests: Sequence[Request], specs: Callable[[Request], list[RunSpec]], runner: Runner) -> list[str]:
    """A note about the runs that a table lacks; none if it is complete."""
    missing: dict[tuple[str, str], list[str]] = {}
    for request in requests:
        seeds = [str(spec.seed) for spec in specs(request) if runner.finished(spec) is None]
        settings = "".join(f", {name} = {value}" for name, value in request.settings.items())
        settings += f", blur {request.blur:g}" * bool(request.blur)
        settings += f", imbalance {request.imbalance:g}" * (request.imbalance > 1)
        where = f"{request.dataset}, T = {tasks_text(request.tasks)}{settings}"
        if seeds:
            missing.setdefault((where, f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"), []).append(request.method)
    lacks = [f"{', '.join(dict.fromkeys(names))} ({where}, {seeds})" for (where, seeds), names in missing.items()]
    return [f"Not run: {'; '.join(lacks)}"] if lacks else []


FEWEST_ROWS = 3
"""A table with fewer rows of ours is left out: a run with default settings is a row of every sweep."""


def from_records(study: Study, records: Sequence[Record], overrides: Settings) -> list[Table]:
    """The tables of a study that these records fill, which are of one backbone and one subset of each data set.

    The paper's own table comes first, then those of streams that the paper does not have.
    """
    datasets = tuple(dict.fromkeys(record.content["data"]["name"] for record in records))
    lengths = tuple(sorted({record.tasks for record in records}, key=lambda tasks: (isinstance(tasks, tuple), tasks)))
    registered = {method.name for method in list_methods()}
    methods = tuple(dict.fromkeys(name for record in records if (name := record.content["method"]) in registered))
    choices = [Choice(methods=methods), Choice(datasets, lengths, methods)]
    choices += [Choice((dataset,), (length,), methods) for dataset in datasets for length in lengths]

    def lookup(request: Request) -> list[Record]:
        method = find_method(request.method)
        settings = method.resolve(overrides_for(method.name, {**overrides, **request.settings}))
        return [
            record
            for record in records
            if record.content["method"] == method.name
            and record.content["data"]["name"] == request.dataset
            and record.tasks == request.tasks
            and record.mixing == (request.blur, request.imbalance)
            and record.content["settings"] == settings
        ]

    tables: list[Table] = []
    shown: set[Path] = set()
    for choice in choices:
        table = _without_empty_sections(study.build(choice, lookup))
        sources = {record.path for record in table.sources}
        rows = {row.label for section in table.sections for row in section.rows if any(cell.ours for cell in row.cells)}
        if not sources <= shown and (len(rows) >= FEWEST_ROWS or study.name == "comparison"):
            tables.append(table)
            shown |= sources
    return tables


def _without_empty_sections(table: Table) -> Table:
    """Only the sections with something of ours."""
    return replace(
        table,
        sections=tuple(each for each in table.sections if any(cell.ours for row in each.rows for cell in row.cells)),
    )
