"""From a study to its table: runs what is missing, or takes what is there."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from foro.research.methods.method import Settings, find_method
from foro.research.protocol.grid import run_all
from foro.research.protocol.record import Record, write_bytes, write_text
from foro.research.protocol.runner import Runner
from foro.research.protocol.shared_settings import check_common, free
from foro.research.protocol.spec import RunSpec, json_tasks
from foro.research.studies.study import Ask, Choice, Kind, Study
from foro.research.tables.draw_curves import draw_curves
from foro.research.tables.draw_table import draw_table
from foro.research.tables.markdown import to_csv, to_markdown
from foro.research.tables.table import Table


def answered(study: Study, choice: Choice, runner: Runner, seeds: Sequence[int], run: bool = True) -> Table:
    """The table of a study; with ``run``, after running what is missing.

    The runner's common settings are for all rows whose method has them, except one that is defined by its value.
    """

    def specs(ask: Ask) -> list[RunSpec]:
        settings = {**runner.common, **ask.settings}
        return [RunSpec(ask.dataset, ask.tasks, ask.method, seed, free(ask.method, settings)) for seed in seeds]

    asks = study.asks(choice)
    if methods := list(dict.fromkeys(ask.method for ask in asks)):
        check_common(methods, runner.common)
    if run:
        run_all(runner, [spec for ask in asks for spec in specs(ask)], study.timed)
    return study.build(choice, lambda ask: [each for spec in specs(ask) if (each := runner.finished(spec))])


FEWEST_ROWS = 3
"""Rows of ours below which a table says nothing: the usual settings are in every one of them."""


def from_records(study: Study, records: Sequence[Record], overrides: Settings) -> list[Table]:
    """Tables of a study as far as these records go, which are of one backbone and one part of each data set.

    The paper's own table first, then those of streams that the paper does not have; only where something was run.
    """
    datasets = tuple(dict.fromkeys(record.content["data"]["name"] for record in records))
    lengths = tuple(sorted({_tasks(record) for record in records}, key=lambda tasks: (isinstance(tasks, tuple), tasks)))
    methods = tuple({record.content["method"] for record in records})
    choices = [Choice(methods=methods), Choice(datasets, lengths, methods)]
    choices += [Choice((dataset,), (length,), methods) for dataset in datasets for length in lengths]

    def answers(ask: Ask) -> list[Record]:
        settings = find_method(ask.method).resolve(free(ask.method, {**overrides, **ask.settings}))
        return [
            record
            for record in records
            if record.content["method"] == ask.method
            and record.content["data"]["name"] == ask.dataset
            and record.content["stream"]["tasks"] == json_tasks(ask.tasks)
            and not record.content["stream"]["blur"]
            and record.content["settings"] == settings
        ]

    tables: list[Table] = []
    shown: set[Path] = set()
    for choice in choices:
        table = _without_empty_sections(study.build(choice, answers))
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


def write_table(table: Table, kind: Kind, folder: Path, name: str | None = None) -> list[Path]:
    """Writes the table as Markdown, CSV and PNG, which shows a figure's curves, and returns where."""
    paths = [folder / f"{name or table.name}.{suffix}" for suffix in ("md", "csv", "png")]
    write_text(paths[0], to_markdown(table))
    write_text(paths[1], to_csv(table))
    picture = io.BytesIO()
    figure = draw_curves(table) if kind == "figure" else draw_table(table)
    figure.savefig(picture, format="png", dpi=160, metadata={"Software": None})
    write_bytes(paths[2], picture.getvalue())
    return paths


def _tasks(record: Record) -> int | tuple[int, ...]:
    tasks = record.content["stream"]["tasks"]
    return tasks if isinstance(tasks, int) else tuple(tasks)
