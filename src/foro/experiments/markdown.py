"""A table as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from foro.experiments.paper import CITATION, SETUP
from foro.experiments.table import Cell, Column, Footnotes, Row, Table, conditions

NONE = "–"


def to_markdown(table: Table) -> str:
    """The table with its footnotes: for each quantity the paper's figure, ours and the difference."""
    notes = Footnotes()
    lines = [f"### {table.number}: {table.title}", ""]
    for section in table.sections:
        if section.title:
            lines += [f"**{section.title}**", ""]
        heads = [table.row_title, "ours by"]
        heads += [f"{column.title} {kind}" for column in section.columns for kind in ("paper", "ours", "difference")]
        lines.append(_line(heads))
        lines.append(_line(["---", "---", *["---:"] * (len(heads) - 2)]))
        lines += [_line(_words(row, section.columns, notes)) for row in section.rows]
        lines.append("")
    lines += [f"{text}.  " for text in caption(table)]
    lines += [f"<sup>{letter}</sup> {text}.  " for text, letter in notes.letters.items()]
    return "\n".join(lines).rstrip() + "\n"


def caption(table: Table) -> list[str]:
    """What every reader of the table must know, as sentences without their points."""
    return [
        f"Paper: {CITATION}; {SETUP}",
        "Ours: mean ± sample standard deviation over seeds; differences are ours less the paper's, where both are of "
        f"the same stream; {NONE}: not run, or not stated",
        *table.notes,
    ]


def difference_text(cell: Cell, column: Column) -> str:
    """``+1.2``, ``−0.3``."""
    if cell.difference is None:
        return NONE
    return f"{cell.difference:+,.{column.digits}f}".replace("-", "−")


def _words(row: Row, columns: tuple[Column, ...], notes: Footnotes) -> list[str]:
    words = [row.label, f"`{row.ours}`" if row.ours else NONE]
    for cell, column in zip(row.cells, columns, strict=True):
        mark = notes.mark(cell)
        words += [
            cell.paper.text(column.digits) if cell.paper else NONE,
            f"{cell.ours.text(column.digits)} <sup>{mark}</sup>" if cell.ours else NONE,
            difference_text(cell, column),
        ]
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
            "conditions": " | ".join(conditions(cell.sources)),
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
