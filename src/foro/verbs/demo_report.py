"""The demonstration's report: one HTML page with everything inside, for a screen of any width."""

from __future__ import annotations

from html import escape
from pathlib import Path

from foro.util.html import cards, heat_map, page, svg, write_page
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
    numbers = result.summary()
    memory = numbers["peak_megabytes"]
    facts = [
        (f"{numbers['accuracy']:.1f} %", "final accuracy on all ten digits"),
        (f"{numbers['forgetting']:.1f}", "points forgotten on average"),
        (f"{numbers['joint_accuracy']:.1f} %", "with all data at once, the upper bound"),
        (f"{numbers['newest_accuracy']:.1f} %", "trained on the newest task only"),
        (f"{numbers['images_per_second']:.0f}", "images a second, learning and predicting"),
        ("–" if memory is None else f"{memory:.0f} MB", "peak memory, no GPU, no torch"),
    ]
    digits = [" ".join(map(str, task)) for task in TASKS]
    maps = "".join(
        f"<figure><figcaption>{escape(name)}</figcaption>"
        f"{heat_map(result.accuracy[name], [f'+ {task}' for task in digits], digits)}</figure>"
        for name in LEARNERS
    )
    body = f"""<h1>Learning without forgetting</h1>
<p>A small frozen vision transformer ({escape(result.backbone)}) learned scikit-learn's handwritten digits
two at a time. Each image was seen once; none was kept; no gradient was computed.
Prompt: {escape(result.prompt)}. Seed: {result.seed}.</p>
{cards(facts)}
<h2>Average accuracy on all digits seen so far</h2>
<div class=plot>{_curves(result)}</div>
<h2>Accuracy on each task, after each task</h2>
<p>A row is what the learner knows after a task; a column is how one task fares as others follow. In %.</p>
<section class=maps>{maps}</section>
<h2>The same on your own images</h2>
<pre>{escape(SNIPPET)}</pre>"""
    return page("FoRo: learning without forgetting", body)


def _curves(result: DemoResult) -> str:
    """Average accuracy after each task, as an inline SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axes = figure.subplots()
    ticks = range(1, len(TASKS) + 1)
    for name, style in zip(LEARNERS, ("o-", "s-", "x--"), strict=True):
        averages = [100 * result.after(now).average(name) for now in range(len(TASKS))]
        axes.plot(ticks, averages, style, color=COLOURS[name], label=name, linewidth=2)
    axes.set(xlabel="tasks learned", ylabel="average accuracy (%)", ylim=(0, 103), xticks=list(ticks))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return svg(figure)
