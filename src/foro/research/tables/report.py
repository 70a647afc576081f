"""The report of a folder of results: one HTML page with tables, curves, heat maps, and how to repeat every run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

import foro
from foro.errors import InputError
from foro.research.methods.method import Settings
from foro.research.protocol.record import Record, read_records, write_text
from foro.research.protocol.shared_settings import taken
from foro.research.studies.answer import from_records
from foro.research.studies.paper import CITATION
from foro.research.studies.study import list_studies
from foro.research.tables.draw_curves import draw_course, draw_curves, draw_matrix
from foro.research.tables.html_table import html_table
from foro.research.tables.report_style import STYLE
from foro.research.tables.summary import Group, grouped, overridden, settings_text, titles
from foro.util.html import cards, heat_map, page, svg

MOST_NUMBERS = 10
"""Tasks beyond which a heat map has colours only."""

MOST_MAPS = 6
"""Methods beyond which the heat maps of a stream are folded away."""

METRICS = {
    "average_accuracy": "A<sub>T</sub>",
    "average_forgetting": "F",
    "average_incremental_accuracy": "incremental",
    "last_accuracy": "last",
    "backward_transfer": "BWT",
}


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
    sections = [_bench(mine, names) for mine in benches.values()]
    images = sum(record.content["data"]["train_images"] for record in records)
    hours = sum(stage["seconds"] for record in records for stage in _stages(record)) / 3600
    facts = [
        (f"{len(records):,}", f"runs of {len({record.content['method'] for record in records})} methods"),
        (f"{len({record.content['data']['title'] for record in records})}", "data sets"),
        (f"{len({record.content['seed'] for record in records})}", "seeds"),
        (f"{images:,}", "images learned"),
        (f"{hours:.1f} h" if hours >= 0.1 else f"{60 * hours:.0f} min", "of computing"),
    ]
    body = f"""<header><h1>Forward-only continual learning: what was measured</h1>
<p>Every figure comes from a run in this folder, and every run ends with the command that repeats it.
The paper's figures are from {escape(CITATION)}. Made with foro {escape(foro.__version__)}.</p></header>
{cards(facts)}
{"".join(sections)}
<h2>Every run</h2>
<p>The settings it was made with, what it was made on, and how to make it again.</p>
{"".join(_details(record) for record in records)}"""
    return page("FoRo: experiments", body, STYLE)


def _bench(records: list[Record], names: Any) -> str:
    """Everything of one backbone on one part of each data set: every stream, then the paper's tables."""
    first = records[0].content
    backbone = first["backbone"]
    title = f"{backbone['name']} at {backbone['image_size']} px"
    parts = [f"<h2 class=bench>{escape(title)}</h2>"]
    streams: dict[tuple[str, int, str], list[Group]] = {}
    for group in sorted(grouped(records), key=lambda group: str(group.first["method"])):
        # A run with a setting of its own is a point of a sweep: it has its place in a table, not among the methods.
        if overridden(group.first).items() <= _common(group.first).items():
            description = f"{group.first['data']['description']}; {group.stream}"
            streams.setdefault((group.first["data"]["title"], len(group.accuracy), description), []).append(group)
    parts += [_stream(*stream, streams[stream], names) for stream in sorted(streams)]
    return "".join([*parts, *_tables(records, names)])


def _common(content: dict[str, Any]) -> Settings:
    """The settings that a run shared with all others of its command."""
    try:
        return taken(content["method"], content["common"])
    except InputError:  # a method that is not installed here
        settings: Settings = content["common"]
        return settings


def _tables(records: list[Record], names: Any) -> list[str]:
    """The paper's tables and figures, as far as they were run, for each set of settings that was common to runs."""
    common = {json.dumps(record.content["common"], sort_keys=True): record.content["common"] for record in records}
    parts: list[str] = []
    shown: dict[str, set[Path]] = {}
    for study in list_studies():
        for overrides in common.values():
            for table in from_records(study, records, overrides):
                sources = {record.path for record in table.sources}
                if sources <= shown.setdefault(study.name, set()):
                    continue
                shown[study.name] |= sources
                setting = settings_text(overrides)
                title = f"{table.number}: {table.title}" + (f" ({setting})" if setting else "")
                picture = ""
                if study.kind == "figure":
                    picture = f"<div class=plot>{svg(draw_curves(table, footnotes=False), next(names))}</div>"
                parts.append(f"<section><h3>{escape(title)}</h3>{picture}{html_table(table)}</section>")
    return parts


def _stream(title: str, tasks: int, description: str, groups: list[Group], names: Any) -> str:
    """One stream: how accuracy went, the metrics, and a heat map for each method."""
    each, shared = titles(groups)
    maps = "".join(
        f"<figure><figcaption>{escape(name)}</figcaption>{_map(group, names)}</figure>"
        for name, group in zip(each, groups, strict=True)
    )
    settings = f"; all with {escape(shared)}" if shared else ""
    return f"""<section><h3>{escape(title)}, {tasks} tasks</h3><p class=note>{escape(description)}{settings}.</p>
<div class=plot>{svg(draw_course(groups), next(names))}</div>
{_metrics(groups)}
<details{" open" * (len(groups) <= MOST_MAPS)}><summary>Accuracy on each task, after each task</summary>
<p>A row is what the learner knows after a task; a column is how one task fares as others follow. Mean, in %.</p>
<div class=maps>{maps}</div></details></section>"""


def _map(group: Group, names: Any) -> str:
    tasks = [str(number + 1) for number in range(len(group.accuracy))]
    if len(tasks) <= MOST_NUMBERS:
        return heat_map(group.accuracy, [f"+ {task}" for task in tasks], tasks)
    return f"<div class=matrix>{svg(draw_matrix(group), next(names))}</div>"


def _metrics(groups: list[Group]) -> str:
    head = "".join(f"<th scope=col>{name}</th>" for name in (*METRICS.values(), "passes", "seconds", "MB", "seeds"))
    rows = []
    for title, group in zip(titles(groups)[0], groups, strict=True):
        cells = [group.percent(metric).text() for metric in METRICS]
        cells.append(f"{max(record.passes_per_sample() for record in group.records):.1f}")
        seconds = [each for record in group.records if (each := record.learning_seconds) is not None]
        memory = [each for record in group.records if (each := record.peak_megabytes) is not None]
        cells.append(f"{sum(seconds) / len(seconds):,.0f}" if seconds else "cached")
        cells.append(f"{max(memory):,.0f}" if memory else "–")
        cells.append(", ".join(str(record.content["seed"]) for record in group.records))
        inside = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f"<tr><th scope=row>{escape(title)}</th>{inside}</tr>")
    return f"""<div class=scroll><table class=figures><thead><tr><th></th>{head}</tr></thead>
<tbody>{"".join(rows)}</tbody></table></div>
<p class=note>In %; passes: forward passes for each image learned, the search for a prompt included; seconds: of
learning all tasks, where no features came from the cache; MB: peak memory of the process while learning.</p>"""


def _details(record: Record) -> str:
    content = record.content
    results = content["results"]
    summary = (
        f"<b>{escape(content['method'])}</b> {escape(content['data']['title'])}, "
        f"{len(content['tasks'])} tasks, seed {content['seed']} "
        f"<span>A {100 * results['average_accuracy']:.1f} F {100 * results['average_forgetting']:.1f}</span>"
    )
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
    rows = "".join(f"<dt>{name}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items())
    return f"""<details class=run><summary>{summary}</summary>
<pre>{escape(content["command"])}</pre><dl>{rows}</dl></details>"""


def _stages(record: Record) -> list[dict[str, Any]]:
    return [task[kind] for task in record.content["tasks"] for kind in ("learn", "test")]
