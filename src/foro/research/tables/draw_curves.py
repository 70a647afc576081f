"""Curves: a figure of the paper, and accuracy as tasks follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from textwrap import wrap
from typing import Any

from foro.research.protocol.run_groups import Group, titles
from foro.research.studies.table import Section, Table
from foro.research.tables.footnotes import Footnotes
from foro.research.tables.markdown import caption
from foro.util.html import new_figure

OWN_COLOURS = {
    "foro": "#1a7f37",
    "foro-paper": "#bc4c00",
    "kem": "#0969da",
    "kem-paper": "#54aeff",
    "fitness-paper": "#d4a72c",
    "ft": "#afb8c1",
    "lwf": "#57606a",
    "dsg": "#8250df",
    "l2p": "#bf3989",
    "layup": "#1b7c83",
    "adam": "#7d4e00",
    "ranpac": "#cf222e",
}
OTHER_COLOURS = ("#ff80c8", "#c297ff", "#76e3ea", "#ffb77c", "#7ee787", "#6e7781")
MARKERS = "osD^vP*X"
INK, PALE = "#1f2328", "#6e7781"


def draw_curves(table: Table, footnotes: bool = True) -> Any:
    """Accuracy and forgetting over what a figure varies: a curve for each method, the paper's figures as diamonds."""
    section = table.sections[0]
    figure = new_figure(9.5, 4.2 if footnotes else 3.6)
    panels = figure.subplots(1, len(section.columns))
    for number, panel in enumerate(panels):
        _ours(panel, section, number)
        _papers(panel, section, number)
        panel.set(xlabel=table.axis, ylabel=f"{section.columns[number].title} (%)")
        points = sorted({row.x for row in section.rows if row.x is not None})
        panel.set_xticks(points, [f"{x:g}" for x in points])
        panel.minorticks_off()
        _tidy(panel)
    handles, labels = panels[0].get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)), frameon=False)
    if footnotes:
        notes = Footnotes()
        for cell in table.cells():
            notes.mark(cell)
        lines = [line for text in (*(text for _, text in notes.lines()), *caption(table)) for line in wrap(text, 210)]
        figure.supxlabel("\n".join(lines), fontsize=6, color=PALE, x=0.01, ha="left")
    return figure


def draw_course(groups: Sequence[Group]) -> Any:
    """The average accuracy after each task of one stream, for each method, with a band of its deviation over seeds."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(8, 3.8)
    axes = figure.subplots()
    # The legend stands beside the ends of the curves, in their order.
    courses = [
        (title, group.first["method"], *group.curve()) for title, group in zip(titles(groups)[0], groups, strict=True)
    ]
    courses.sort(key=lambda course: course[2][-1], reverse=True)
    colours = _colours([method for _, method, *_ in courses])
    for (title, _, mean, deviation), colour, marker in zip(courses, colours, cycle(MARKERS), strict=False):
        tasks = range(1, len(mean) + 1)
        few = len(mean) <= 12
        axes.plot(tasks, mean, color=colour, marker=marker if few else None, label=title, linewidth=2)
        axes.fill_between(tasks, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="tasks learned", ylabel="average accuracy (%)")
    axes.set_ylim(top=min(102.0, axes.get_ylim()[1]))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    _tidy(axes)
    return figure


def draw_matrix(group: Group) -> Any:
    """An accuracy matrix of more tasks than a table of numbers has room for."""
    figure = new_figure(3.6, 3.1)
    axes = figure.subplots()
    count = len(group.accuracy)
    image = axes.imshow(
        100 * group.accuracy, cmap="Greens", vmin=0, vmax=100, extent=(0.5, count + 0.5, count + 0.5, 0.5)
    )
    axes.set(xlabel="task", ylabel="after task")
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def _colours(methods: Sequence[str]) -> list[str]:
    """A colour for each method, the same in every picture for those that are in most of them."""
    others = cycle(OTHER_COLOURS)
    seen: set[str] = set()
    colours = []
    for method in methods:
        first = method in OWN_COLOURS and method not in seen
        colours.append(OWN_COLOURS[method] if first else next(others))
        seen.add(method)
    return colours


def _ours(panel: Any, section: Section, number: int) -> None:
    methods = list(dict.fromkeys(row.method for row in section.rows if row.method))
    for method, colour, marker in zip(methods, _colours(methods), cycle(MARKERS), strict=False):
        points = [(row.x, ours) for row in section.rows if row.method == method and (ours := row.cells[number].ours)]
        panel.errorbar(
            [x for x, _ in points],
            [ours.mean for _, ours in points],
            [ours.deviation or 0.0 for _, ours in points],
            color=colour,
            marker=marker,
            markersize=5,
            capsize=3,
            linewidth=1.8,
            label=method,
        )


def _papers(panel: Any, section: Section, number: int) -> None:
    stated: dict[str, dict[float | None, float]] = {}
    for row in section.rows:
        cell = row.cells[number]
        if (paper := cell.paper) and cell.comparable:  # on another stream it would only look like a comparison
            stated.setdefault(row.series, {})[row.x] = paper.mean
    for (series, points), marker in zip(stated.items(), cycle("dhp8"), strict=False):
        panel.plot(
            list(points),
            list(points.values()),
            color=INK if series == "FoRo" else PALE,
            marker=marker,
            markersize=7,
            markerfacecolor="white",
            linestyle=":",
            linewidth=1,
            label=f"paper: {series}",
        )


def _tidy(axes: Any) -> None:
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
