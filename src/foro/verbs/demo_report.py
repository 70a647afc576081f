"""The demonstration's report: one HTML page with everything inside, for a screen of any width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foro.util.html import new_figure, render, svg, write_page
from foro.verbs.digits_demo import LEARNERS, TASKS, DemoResult

SNIPPET = """\
from foro import Learner, read_class_folders

photos = read_class_folders("photos")  # photos/cat/1.jpg, ...
learner = Learner("nano")
learner.learn(photos.images, photos.labels)
print(learner.predict(["new.jpg"]))
"""

COLOURS = {"FoRo": "#1a7f37", "newest task only": "#cf222e", "all data at once": "#0969da"}


def write_report(result: DemoResult, path: Path) -> None:
    """Writes the page."""
    write_page(path, render_report(result))


def render_report(result: DemoResult) -> str:
    """The page as HTML."""
    return render(
        "verbs/templates/demo_report.html.j2",
        result=result,
        numbers=result.summary(),
        learners=LEARNERS,
        digits=[" ".join(map(str, task)) for task in TASKS],
        curves=svg(_curves(result)),
        snippet=SNIPPET,
    )


def _curves(result: DemoResult) -> Any:
    """Average accuracy after each task."""
    figure = new_figure(7, 3.4)
    axes = figure.subplots()
    ticks = range(1, len(TASKS) + 1)
    for name, style in zip(LEARNERS, ("o-", "s-", "x--"), strict=True):
        averages = [100 * result.after(now).average(name) for now in range(len(TASKS))]
        axes.plot(ticks, averages, style, color=COLOURS[name], label=name, linewidth=2)
    axes.set(xlabel="tasks learned", ylabel="average accuracy (%)", ylim=(0, 103), xticks=list(ticks))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
