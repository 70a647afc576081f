"""Accuracy against the processor seconds of learning: one panel for the longest stream of each headline table."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from pathlib import Path
from typing import Any

from claims import Stream, read_streams

from foro.util.html import new_figure

INK, OURS = "#1f2328", "#0969da"
BACKWARD = ("ranpac", "layup", "adam", "ft", "lwf", "l2p", "dsg")
"""Methods that train by back-propagation: open squares; those without a gradient are filled circles."""

LEADING = ("foro", "kem")
"""Methods that the claim is about: their names are bold."""

ACROSS = 2
PLACES = (
    *((7, -3, "left"), (-7, -3, "right"), (0, 7, "center"), (0, -13, "center")),
    *((5, 5, "left"), (-5, 5, "right"), (5, -11, "left"), (-5, -11, "right")),
)
"""Where a label may stand beside its point: an offset in points, and how it is aligned."""

CLEAR = 5.0
"""Points around the middle of a mark that no other label covers."""


def draw_results(tables: Iterable[tuple[str, Path]]) -> Any:
    """The picture; None if no stream has two methods whose seconds are known."""
    points = []
    for table in tables:
        timed = [(stream, each) for stream in read_streams([table]) if len(each := _points(stream)) > 1]
        points += timed[-1:]
    if not points:
        return None
    down = ceil(len(points) / ACROSS)
    figure = new_figure(4.6 * min(ACROSS, len(points)), 3.3 * down + 0.3)
    figure.patch.set_facecolor("white")
    panels = list(figure.subplots(down, min(ACROSS, len(points)), squeeze=False).flat)
    for panel in panels[len(points) :]:
        panel.set_axis_off()
    for panel, (stream, each) in zip(panels, points, strict=False):
        _panel(panel, stream, each)
    figure.legend(handles=_legend(), loc="outside upper right", ncols=2, fontsize=8, frameon=False, labelcolor=INK)
    figure.supxlabel("processor seconds of learning all tasks", fontsize=9, color=INK)
    figure.supylabel("average accuracy A (%)", fontsize=9, color=INK)
    figure.draw_without_rendering()
    for panel, (_, each) in zip(panels, points, strict=False):
        _label(panel, each)
    return figure


def _points(stream: Stream) -> dict[str, tuple[float, float]]:
    """Seconds and accuracy of each method that has both."""
    methods = dict.fromkeys(method for method, _ in stream.cells)
    found = {method: (stream.cells.get((method, "CPU seconds")), stream.cells[method, "A"]) for method in methods}
    return {method: (seconds.mean, accuracy.mean) for method, (seconds, accuracy) in found.items() if seconds}


def _mark(backward: bool) -> dict[str, Any]:
    """How a point looks."""
    if backward:
        return {"marker": "s", "markersize": 7, "color": INK, "markerfacecolor": "white", "linestyle": "none"}
    return {"marker": "o", "markersize": 7, "color": OURS, "linestyle": "none"}


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    said = {False: "forward passes only", True: "with back-propagation"}
    return [Line2D([], [], label=text, **_mark(backward)) for backward, text in said.items()]


def _panel(panel: Any, stream: Stream, points: dict[str, tuple[float, float]]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    for method, (seconds, accuracy) in points.items():
        panel.plot(seconds, accuracy, **_mark(method in BACKWARD))
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.margins(0.22, 0.15)
    panel.set_title(stream.title, fontsize=8, color=INK, loc="left")
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)


def _label(panel: Any, points: dict[str, tuple[float, float]]) -> None:
    """Names beside their points, each at the first place, if any, where it covers nothing else."""
    at = {method: panel.transData.transform(point) for method, point in points.items()}
    taken: list[Any] = []
    for method, point in sorted(points.items(), key=lambda item: -item[1][1]):
        weight = "bold" if method in LEADING else "normal"
        text = panel.annotate(
            method, point, (0, 0), textcoords="offset points", fontsize=8, color=INK, fontweight=weight
        )
        text.set_in_layout(False)  # the panels have their places by now
        for x, y, side in (*PLACES, PLACES[0]):
            text.set(position=(x, y), ha=side)
            box = text.get_window_extent()
            others = (place for name, place in at.items() if name != method)
            inside = panel.bbox.x0 <= box.x0 and box.x1 <= panel.bbox.x1
            if (
                inside
                and not any(map(box.overlaps, taken))
                and not any(box.padded(CLEAR * panel.figure.dpi / 72).contains(*place) for place in others)
            ):
                break
        taken.append(text.get_window_extent())
