"""A table as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from foro.research.studies.paper import CITATION, SETUP
from foro.research.studies.table import Cell, Column, Part, Row, Section, Table
from foro.research.tables.footnotes import Footnotes, conditions

NONE = "–"
TITLES: dict[Part, str] = {"paper": "paper", "ours": "ours", "difference": "diff."}
"""Of the parts of a cell, where there is little room."""


def to_markdown(table: Table) -> str:
    """The table with its footnotes: for each quantity the paper's, ours and the difference, where there are any."""
    notes = Footnotes()
    beside = any(cell.paper for cell in table.cells())
    lines = [f"### {table.number}: {table.title}", ""]
    for section in table.sections if beside else _filled(table.sections):
        if section.title:
            lines += [f"**{section.title}**", ""]
        lines += _table(table.row_title, section, notes) if beside else _ours(table.row_title, section, notes)
        lines.append("")
    lines += [f"{text}.  " for text in caption(table)]
    lines += [f"<sup>{letter}</sup> {text}.  " if letter else f"{text}.  " for letter, text in notes.lines()]
    return "\n".join(lines).rstrip() + "\n"


def caption(table: Table) -> list[str]:
    """What every reader of the table must know, as sentences without their points."""
    beside = any(cell.paper for cell in table.cells())
    there = f"{NONE}: not run"
    if beside:
        there = f"differences are ours less the paper's, where both are of the same stream; {there}, or not stated"
    return [
        *([f"Paper: {CITATION}; {SETUP}"] if beside else []),
        f"Ours: mean ± sample standard deviation over seeds; {there}",
        *table.notes,
    ]


def _table(title: str, section: Section, notes: Footnotes) -> list[str]:
    """Lines of a section that has something of the paper."""
    heads = [title, "ours by"]
    for column, parts in zip(section.columns, section.parts, strict=True):
        heads += [f"{column.title} {part}" for part in parts]
    rows = [_words(row, section, notes) for row in section.rows]
    return [_line(heads), _line(["---", "---", *["---:"] * (len(heads) - 2)]), *map(_line, rows)]


def _filled(sections: Sequence[Section]) -> Sequence[Section]:
    """Sections and rows of which something was run; all, if nothing was. The notes say what was not."""
    kept = [
        replace(each, rows=tuple(row for row in each.rows if any(cell.ours for cell in row.cells))) for each in sections
    ]
    return [each for each in kept if each.rows] or sections


def _ours(title: str, section: Section, notes: Footnotes) -> list[str]:
    """Lines of a section of ours alone: the method stands once, and conditions that a row shares after its name."""
    named = any(row.label != row.method for row in section.rows)
    heads = [title, *(["by"] if named else []), *(column.title for column in section.columns)]
    lines = [_line(heads), _line([*["---"] * (1 + named), *["---:"] * len(section.columns)])]
    for row in section.rows:
        marks = dict.fromkeys(f" <sup>{notes.mark(cell)}</sup>" for cell in row.cells if cell.ours)
        shared = next(iter(marks)) if len(marks) == 1 else ""
        first = [f"{row.label}{shared}", f"`{row.ours}`"] if named else [f"`{row.ours}`{shared}"]
        words = [
            part_text(cell, column, "ours", "" if shared else f" <sup>{notes.mark(cell)}</sup>")
            for cell, column in zip(row.cells, section.columns, strict=True)
        ]
        lines.append(_line([*first, *words]))
    return lines


def part_text(cell: Cell, column: Column, part: Part, mark: str = "") -> str:
    """The paper's value, ours with the mark of its footnote, or the difference."""
    if part == "difference":
        difference = cell.difference
        return NONE if difference is None else f"{difference:+,.{column.digits}f}".replace("-", "−")
    value = getattr(cell, part)
    return f"{value.text(column.digits)}{mark if part == 'ours' else ''}" if value else NONE


def _words(row: Row, section: Section, notes: Footnotes) -> list[str]:
    words = [row.label, f"`{row.ours}`" if row.ours else NONE]
    for cell, column, parts in zip(row.cells, section.columns, section.parts, strict=True):
        mark = f" <sup>{notes.mark(cell)}</sup>"
        words += [part_text(cell, column, part, mark) for part in parts]
    return words


def _line(words: list[str]) -> str:
    return f"| {' | '.join(words)} |"


def to_entries(table: Table) -> list[dict[str, Any]]:
    """One entry for each cell, JSON-ready; what is not known is None."""
    return [
        {
            "number": table.number,
            "section": section.title,
            "row": row.label,
            "method": row.method,
            "quantity": column.title,
            "paper": cell.paper and cell.paper.mean,
            "paper_deviation": cell.paper and cell.paper.deviation,
            "ours": cell.ours and cell.ours.mean,
            "ours_deviation": cell.ours and cell.ours.deviation,
            "seeds": cell.ours and cell.ours.seeds,
            "difference": cell.difference,
            "conditions": " | ".join(conditions(cell.sources, cell.varied)),
        }
        for section in table.sections
        for row in section.rows
        for column, cell in zip(section.columns, row.cells, strict=True)
    ]


def to_csv(table: Table) -> str:
    """One line for each cell; what is not known is empty."""
    file = io.StringIO()
    entries = to_entries(table)
    writer = csv.DictWriter(file, list(entries[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries)
    return file.getvalue()
