"""The report of a folder of results: one HTML page with tables, curves, heat maps, and how to repeat every run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import foro
from foro.errors import InputError
from foro.research.methods.method import Settings
from foro.research.protocol.method_catalog import taken
from foro.research.protocol.record import Record, read_records, write_text
from foro.research.protocol.run_groups import Group, grouped, overridden, settings_text, titles
from foro.research.studies.all_studies import list_studies
from foro.research.studies.paper import CITATION
from foro.research.studies.table import Table
from foro.research.studies.tables_from_runs import from_records
from foro.research.tables.draw_curves import draw_course, draw_curves, draw_matrix
from foro.research.tables.footnotes import Footnotes
from foro.research.tables.markdown import TITLES, caption, part_text
from foro.util.html import render, svg

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_NUMBERS = 10
"""Tasks beyond which a heat map has colours only."""

MOST_MAPS = 6
"""Methods beyond which the heat maps of a stream are folded away."""

METRICS = (
    "average_accuracy",
    "average_forgetting",
    "average_incremental_accuracy",
    "last_accuracy",
    "backward_transfer",
)


def write_report(folder: Path, path: Path) -> int:
    """Writes the page about all results in a folder, and returns how many there are."""
    records = read_records(folder)
    if not records:
        raise InputError(f"{folder} has no results; they are written by: foro experiment run")
    write_text(path, render_report(records))
    return len(records)


def render_report(records: Sequence[Record]) -> str:
    """The page as HTML."""
    names = (f"f{number}-" for number in count())
    benches: dict[str, list[Record]] = {}
    for record in records:
        backbone, data = record.content["backbone"], record.content["data"]
        part = [backbone["fingerprint"], backbone["image_size"], data["train_per_class"], data["test_per_class"]]
        benches.setdefault(json.dumps(part), []).append(record)
    images = sum(record.content["data"]["train_images"] for record in records)
    stages = (task[kind] for record in records for task in record.content["tasks"] for kind in ("learn", "test"))
    hours = sum(stage["seconds"] for stage in stages) / 3600
    facts = [
        (f"{len(records):,}", f"runs of {len({record.content['method'] for record in records})} methods"),
        (f"{len({record.content['data']['title'] for record in records})}", "data sets"),
        (f"{len({record.content['seed'] for record in records})}", "seeds"),
        (f"{images:,}", "images learned"),
        (f"{hours:.1f} h" if hours >= 0.1 else f"{60 * hours:.0f} min", "of computing"),
    ]
    return render(
        "research/tables/templates/report.html.j2",
        citation=CITATION,
        version=foro.__version__,
        facts=facts,
        benches=[_bench(mine, names) for mine in benches.values()],
        most_maps=MOST_MAPS,
        runs=[_run(record) for record in records],
    )


def html_table(table: Table) -> Markup:
    """The table with its footnotes: sections below each other, every quantity as paper, ours and difference."""
    return render(
        "research/tables/templates/table.html.j2",
        table=table,
        titles=TITLES,
        caption=caption(table),
        notes=Footnotes(),
        part_text=part_text,
    )


def _bench(records: list[Record], names: Iterator[str]) -> dict[str, Any]:
    """Everything of one backbone on one part of each data set: every stream, then the paper's tables."""
    backbone = records[0].content["backbone"]
    streams: dict[tuple[str, int, str], list[Group]] = {}
    for group in sorted(grouped(records), key=lambda group: str(group.first["method"])):
        # A run with a setting of its own is a point of a sweep: it has its place in a table, not among the methods.
        if overridden(group.first).items() <= _common(group.first).items():
            description = f"{group.first['data']['description']}; {group.stream}"
            streams.setdefault((group.first["data"]["title"], len(group.accuracy), description), []).append(group)
    return {
        "title": f"{backbone['name']} at {backbone['image_size']} px",
        "streams": [_stream(*stream, streams[stream], names) for stream in sorted(streams)],
        "tables": list(_tables(records, names)),
    }


def _common(content: dict[str, Any]) -> Settings:
    """The settings that a run shared with all others of its command."""
    try:
        return taken(content["method"], content["common"])
    except InputError:  # a method that is not installed here
        settings: Settings = content["common"]
        return settings


def _tables(records: list[Record], names: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The paper's tables and figures, as far as they were run, for each set of settings that was common to runs."""
    common = {json.dumps(record.content["common"], sort_keys=True): record.content["common"] for record in records}
    shown: dict[str, set[Path]] = {}
    for study in list_studies():
        for overrides in common.values():
            for table in from_records(study, records, overrides):
                sources = {record.path for record in table.sources}
                if sources <= shown.setdefault(study.name, set()):
                    continue
                shown[study.name] |= sources
                setting = settings_text(overrides)
                yield {
                    "title": f"{table.number}: {table.title}" + (f" ({setting})" if setting else ""),
                    "plot": svg(draw_curves(table, footnotes=False), next(names)) if study.kind == "figure" else None,
                    "html": html_table(table),
                }


def _stream(title: str, tasks: int, description: str, groups: list[Group], names: Iterator[str]) -> dict[str, Any]:
    """One stream: how accuracy went, and for each method the metrics and a heat map."""
    each, shared = titles(groups)
    return {
        "title": title,
        "tasks": tasks,
        "description": description,
        "shared": shared,
        "course": svg(draw_course(groups), next(names)),
        "methods": [
            {
                "title": name,
                "cells": _cells(group),
                "accuracy": group.accuracy,
                "matrix": svg(draw_matrix(group), next(names)) if tasks > MOST_NUMBERS else None,
            }
            for name, group in zip(each, groups, strict=True)
        ],
    }


def _cells(group: Group) -> list[str]:
    """The metrics of a method, and what they took."""
    seconds = [each for record in group.records if (each := record.learning_seconds) is not None]
    memory = [each for record in group.records if (each := record.peak_megabytes) is not None]
    return [
        *(group.percent(metric).text() for metric in METRICS),
        f"{max(record.passes_per_sample() for record in group.records):.1f}",
        f"{sum(seconds) / len(seconds):,.0f}" if seconds else "cached",
        f"{max(memory):,.0f}" if memory else "–",
        ", ".join(str(record.content["seed"]) for record in group.records),
    ]


def _run(record: Record) -> dict[str, Any]:
    """A run with everything that it was made with."""
    content = record.content
    facts = {
        "stream": content["stream"]["description"],
        "backbone": f"{content['backbone']['name']}, {content['backbone']['image_size']} px, "
        f"weights {content['backbone']['fingerprint'][:16]}…",
        "data": f"fingerprint {content['data']['fingerprint'][:16]}…",
        "settings": settings_text(content["settings"]),
        "versions": ", ".join(f"{name} {version}" for name, version in content["versions"].items()),
        "machine": ", ".join(f"{value}" for value in content["machine"].values() if value),
        "time": f"{content['started']} to {content['finished']}",
        "file": record.path.name,
    }
    notes = dict.fromkeys(task["learn"]["note"] for task in content["tasks"] if task["learn"]["note"])
    if notes:
        facts["note"] = "; ".join(notes)
    title = f"{content['data']['title']}, {len(content['tasks'])} tasks, seed {content['seed']}"
    return {**content, "title": title, "facts": facts}
