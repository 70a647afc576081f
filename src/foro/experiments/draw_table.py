"""A table as a picture."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from foro.experiments.markdown import NONE, caption, difference_text
from foro.experiments.table import Footnotes, Section, Table

ROW_HEIGHT = 0.27  # inches
INK, PALE, RULE, GOOD, BAD = "#1f2328", "#6e7781", "#d0d7de", "#1a7f37", "#cf222e"


def draw_table(table: Table) -> Any:
    """Sections below each other, every quantity as paper, ours and difference."""
    from matplotlib.figure import Figure

    notes = Footnotes()
    widest = max(len(section.columns) for section in table.sections)
    width = 3.6 + 2.5 * widest
    bodies = [_body(section, notes) for section in table.sections]
    foot = [*caption(table), *(f"({letter}) {text}" for text, letter in notes.letters.items())]
    foot = [line for text in foot for line in wrap(text, int(19 * width))]
    lines = 1.6 + sum(len(body) + 3.2 for body in bodies) + 0.62 * len(foot)
    figure = Figure(figsize=(width, ROW_HEIGHT * lines))
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


def _body(section: Section, notes: Footnotes) -> list[list[tuple[str, str]]]:
    """Words and colours of each row, after its label and method."""
    body = []
    for row in section.rows:
        words = [(row.label, INK), (row.ours or NONE, INK if row.ours else PALE)]
        for cell, column in zip(row.cells, section.columns, strict=True):
            mark = notes.mark(cell)
            words.append((cell.paper.text(column.digits) if cell.paper else NONE, PALE))
            words.append((f"{cell.ours.text(column.digits)} $^{{{mark}}}$" if cell.ours else NONE, INK))
            words.append((difference_text(cell, column), _colour(cell.difference, column.less_is_better)))
        body.append(words)
    return body


def _draw_section(
    axes: Any, table: Table, section: Section, body: list[list[tuple[str, str]]], y: float, width: float
) -> float:
    """Draws a section from y on, and returns where the next may start."""
    starts = [3.6 + 2.5 * number for number in range(len(section.columns))]
    rights = [x + offset for x in starts for offset in (0.72, 1.72, 2.32)]
    axes.text(0.15, y, section.title or table.row_title, fontsize=9, fontweight="bold", color=INK, va="center")
    for x, column in zip(starts, section.columns, strict=True):
        axes.text(x + 1.3, y, column.title, fontsize=9, fontweight="bold", color=INK, ha="center", va="center")
    y += 0.9
    axes.text(1.95, y, "ours by", fontsize=7, color=PALE, va="center")
    for x, word in zip(rights, ("paper", "ours", "diff.") * len(starts), strict=True):
        axes.text(x, y, word, fontsize=7, color=PALE, ha="right", va="center")
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
