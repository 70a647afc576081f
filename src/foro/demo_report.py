"""The demonstration's report: one HTML page with everything inside, for a screen of any width."""

from __future__ import annotations

import io
from html import escape
from pathlib import Path

import numpy as np

from foro.demo import LEARNERS, TASKS, DemoResult
from foro.errors import InputError

SNIPPET = """\
from foro import Learner, read_class_folders

photos = read_class_folders("photos")  # photos/cat/1.jpg, photos/dog/2.jpg, ...
learner = Learner("nano")
learner.learn(photos.images, photos.labels)
print(learner.predict(["new.jpg"]))
"""

COLOURS = {"FoRo": "#1a7f37", "newest task only": "#cf222e", "all data at once": "#0969da"}


def write_report(result: DemoResult, path: Path) -> None:
    """Writes the page."""
    try:
        path.write_text(render_report(result), encoding="utf-8")
    except OSError as error:
        raise InputError(f"the report {path} cannot be written: {error.strerror}") from None


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
    cards = "".join(f"<div class=card><b>{value}</b><span>{escape(text)}</span></div>" for value, text in facts)
    maps = "".join(
        f"<figure><figcaption>{escape(name)}</figcaption>{_heat_map(result, name)}</figure>" for name in LEARNERS
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>FoRo: learning without forgetting</title>
<style>{STYLE}</style>
<main>
<h1>Learning without forgetting</h1>
<p>A small frozen vision transformer ({escape(result.backbone)}) learned scikit-learn's handwritten digits
two at a time. Each image was seen once; none was kept; no gradient was computed.
Prompt: {escape(result.prompt)}. Seed: {result.seed}.</p>
<section class=cards>{cards}</section>
<h2>Average accuracy on all digits seen so far</h2>
<div class=plot>{_curves(result)}</div>
<h2>Accuracy on each task, after each task</h2>
<p>A row is what the learner knows after a task; a column is how one task fares as others follow. In %.</p>
<section class=maps>{maps}</section>
<h2>The same on your own images</h2>
<pre>{escape(SNIPPET)}</pre>
</main>
</html>
"""


def _heat_map(result: DemoResult, name: str) -> str:
    head = "".join(f"<th scope=col>{' '.join(map(str, digits))}</th>" for digits in TASKS)
    rows = []
    for now, digits in enumerate(TASKS):
        cells = []
        for value in result.accuracy[name][now]:
            if np.isnan(value):
                cells.append("<td></td>")
            else:
                # From pale to full green; dark cells get white text.
                ink = "#fff" if value > 0.55 else "#111"
                cells.append(
                    f"<td style='background:hsl(140 55% {90 - 58 * value:.0f}%);color:{ink}'>{100 * value:.0f}</td>"
                )
        rows.append(f"<tr><th scope=row>+ {' '.join(map(str, digits))}</th>{''.join(cells)}</tr>")
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _curves(result: DemoResult) -> str:
    """Average accuracy after each task, as an inline SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axes = figure.subplots()
    ticks = range(1, len(TASKS) + 1)
    for name, marker in zip(LEARNERS, "osx", strict=True):
        averages = [100 * result.after(now).average(name) for now in range(len(TASKS))]
        axes.plot(ticks, averages, marker=marker, color=COLOURS[name], label=name, linewidth=2)
    axes.set(xlabel="tasks learned", ylabel="average accuracy (%)", ylim=(0, 103), xticks=list(ticks))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    image = io.StringIO()
    figure.savefig(image, format="svg", metadata={"Date": None})
    return image.getvalue()[image.getvalue().index("<svg") :]


STYLE = """
:root { color-scheme: light; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1f2328; background: #f6f8fa; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 2rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; }
.card { background: #fff; border: 1px solid #d0d7de; border-radius: .75rem; padding: .75rem 1rem; }
.card b { display: block; font-size: 1.5rem; } .card span { font-size: .85rem; color: #57606a; }
.plot { background: #fff; border: 1px solid #d0d7de; border-radius: .75rem; padding: .5rem; }
.plot svg { display: block; width: 100%; height: auto; }
.maps { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .75rem; }
figure { margin: 0; background: #fff; border: 1px solid #d0d7de; border-radius: .75rem; padding: .75rem; }
figcaption { font-weight: 600; margin-bottom: .5rem; }
table { width: 100%; border-collapse: separate; border-spacing: 2px; font-variant-numeric: tabular-nums; }
th { font-weight: 500; font-size: .85rem; color: #57606a; white-space: nowrap; }
td { text-align: center; padding: .35rem 0; border-radius: .3rem; font-size: .9rem; }
pre { background: #1f2328; color: #e6edf3; border-radius: .75rem; padding: 1rem; overflow-x: auto; }
"""
