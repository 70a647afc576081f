"""A table as a picture."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from foro.research.studies.table import Part, Section, Table
from foro.research.tables.footnotes import Footnotes
from foro.research.tables.markdown import NONE, TITLES, caption, part_text
from foro.util.html import new_figure

ROW_HEIGHT = 0.27  # inches, as what follows
_FIRST, _GAP = 3.4, 0.2
_WIDTHS: dict[Part, float] = {"paper": 0.75, "ours": 1.0, "difference": 0.55}
INK, PALE, RULE, GOOD, BAD = "#1f2328", "#6e7781", "#d0d7de", "#1a7f37", "#cf222e"


def draw_table(table: Table) -> Any:
    """Sections below each other, every quantity as paper, ours and difference, where there are any."""
    notes = Footnotes()
    width = max(_FIRST + sum(map(_width, section.parts)) for section in table.sections) + _GAP
    bodies = [_body(section, notes) for section in table.sections]
    foot = [*caption(table), *(f"({letter}) {text}" if letter else text for letter, text in notes.lines())]
    foot = [line for text in foot for line in wrap(text, int(19 * width))]
    lines = 1.6 + sum(len(body) + 3.2 for body in bodies) + 0.62 * len(foot)
    figure = new_figure(width, ROW_HEIGHT * lines, layout=None)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(lines, 0))
    axes.set_axis_off()
    axes.text(0.15, 0.8, f"{table.number}: {table.title}", fontsize=12, fontweight="bold", color=INK, va="center")
    y = 2.0
    for section, body in zip(table.sections, bodies, strict=True):
        y = _draw_section(axes, table, section, body, y, width)
    for line in foot:
        axes.text(0.15, y, line, fontsize=6.5, color=PALE, va="center")
        y += 0.62
    return figure


def _width(parts: tuple[Part, ...]) -> float:
    return _GAP + sum(_WIDTHS[part] for part in parts)


def _body(section: Section, notes: Footnotes) -> list[list[tuple[str, str]]]:
    """Words and colours of each row, after its label and method."""
    body = []
    for row in section.rows:
        words = [(row.label, INK), (row.ours or NONE, INK if row.ours else PALE)]
        for cell, column, parts in zip(row.cells, section.columns, section.parts, strict=True):
            colours = {"paper": PALE, "ours": INK, "difference": _colour(cell.difference, column.less_is_better)}
            mark = f" $^{{{notes.mark(cell)}}}$"
            words += [(part_text(cell, column, part, mark), colours[part]) for part in parts]
        body.append(words)
    return body


def _draw_section(
    axes: Any, table: Table, section: Section, body: list[list[tuple[str, str]]], y: float, width: float
) -> float:
    """Draws a section from y on, and returns where the next may start."""
    axes.text(0.15, y, section.title or table.row_title, fontsize=9, fontweight="bold", color=INK, va="center")
    axes.text(1.95, y + 0.9, "ours by", fontsize=7, color=PALE, va="center")
    rights = []
    x = _FIRST
    for column, parts in zip(section.columns, section.parts, strict=True):
        middle = x + (_WIDTHS[parts[0]] + _width(parts)) / 2
        axes.text(middle, y, column.title, fontsize=9, fontweight="bold", color=INK, ha="center", va="center")
        x += _GAP
        for part in parts:
            x += _WIDTHS[part]
            axes.text(x, y + 0.9, TITLES[part], fontsize=7, color=PALE, ha="right", va="center")
            rights.append(x)
    y += 0.9
    axes.plot([0.15, width - 0.15], [y + 0.55] * 2, color=INK, linewidth=0.8)
    for words in body:
        y += 1
        for number, (word, colour) in enumerate(words):
            if number < 2:
                axes.text((0.15, 1.95)[number], y, word, fontsize=7.5, color=colour, va="center")
            else:
                axes.text(rights[number - 2], y, word, fontsize=7.5, color=colour, ha="right", va="center")
        axes.plot([0.15, width - 0.15], [y + 0.5] * 2, color=RULE, linewidth=0.4)
    return y + 1.6


def _colour(difference: float | None, less_is_better: bool | None) -> str:
    if not difference or less_is_better is None:
        return PALE
    return GOOD if (difference < 0) == less_is_better else BAD
