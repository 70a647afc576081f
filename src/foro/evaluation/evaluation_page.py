"""The page of an evaluation: one HTML file with everything inside."""

from __future__ import annotations

from html import escape
from pathlib import Path

from foro.evaluation.evaluation import Evaluation
from foro.evaluation.pictures import draw_confusion, draw_reliability
from foro.util.html import cards, page, svg, write_page

_STYLE = """
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: .75rem; }
.pictures .wide { grid-column: 1 / -1; }
.classes { background: #fff; border: 1px solid #d0d7de; border-radius: .75rem; padding: .5rem 1rem; overflow-x: auto; }
.classes td, .classes th { text-align: right; padding: .2rem .6rem; border-radius: 0; white-space: nowrap; }
.classes th:first-child { text-align: left; color: #1f2328; }
.classes td.bar { width: 40%; } .bar i { display: block; height: .7rem; border-radius: .2rem; background: #1a7f37; }
@media (max-width: 40rem) { .classes .bar { display: none; } .classes td, .classes th { padding: .2rem .3rem; } }
"""


def write_evaluation(evaluation: Evaluation, model: str, data: str, path: Path) -> None:
    """Writes the page."""
    write_page(path, render_evaluation(evaluation, model, data))


def render_evaluation(evaluation: Evaluation, model: str, data: str) -> str:
    """The page as HTML; ``model`` and ``data`` say what was evaluated."""
    facts = [
        (f"{100 * evaluation.accuracy:.1f} %", "accuracy"),
        (f"{100 * evaluation.class_accuracy:.1f} %", "mean accuracy of the classes"),
        (f"{100 * float(evaluation.confidence.mean()):.1f} %", "mean confidence"),
        (f"{100 * evaluation.calibration_error:.1f} %", "expected calibration error"),
        (f"{len(evaluation)}", "images"),
        (f"{evaluation.tested_classes}", "classes"),
    ]
    wide = len(evaluation.classes) > 15
    body = f"""<h1>{escape(model)} on {escape(data)}</h1>
<p>{len(evaluation)} images were asked for once each.{_remarks(evaluation)}</p>
{cards(facts)}
<div class=pictures>
<section{" class=wide" if wide else ""}><h2>What is taken for what</h2>
<div class=plot>{svg(draw_confusion(evaluation), "confusion-")}</div></section>
<section><h2>Confidence</h2>
<div class=plot>{svg(draw_reliability(evaluation), "reliability-")}</div></section>
{_mistakes(evaluation)}
</div>
<h2>Classes</h2>
<div class=classes>{_classes(evaluation)}</div>{_skipped(evaluation)}"""
    return page(f"FoRo: {model} on {data}", body, _STYLE)


def _remarks(evaluation: Evaluation) -> str:
    if not evaluation.unknown:
        return ""
    count = sum(evaluation.unknown.values())
    names = ", ".join(str(label) for label in evaluation.unknown)
    return f" {count} of them have labels that the model does not know, and count as wrong: {escape(names)}."


def _mistakes(evaluation: Evaluation) -> str:
    confused = evaluation.confused(10)
    if not confused:
        return ""
    rows = "".join(
        f"<tr><th>{escape(str(true))}</th><td>taken for {escape(str(answer))}</td><td>{count} ×</td></tr>"
        for true, answer, count in confused
    )
    return f"<section><h2>Most frequent mistakes</h2><div class=classes><table>{rows}</table></div></section>"


def _classes(evaluation: Evaluation) -> str:
    rows = []
    for each in sorted(evaluation.classes, key=lambda result: (result.accuracy is None, result.accuracy or 0.0)):
        accuracy = "–" if each.accuracy is None else f"{100 * each.accuracy:.0f} %"
        precision = "–" if each.precision is None else f"{100 * each.precision:.0f} %"
        bar = f"<i style='width:{100 * (each.accuracy or 0.0):.0f}%'></i>"
        rows.append(
            f"<tr><th scope=row>{escape(str(each.label))}</th><td>{each.images}</td><td>{accuracy}</td>"
            f"<td class=bar>{bar}</td><td>{precision}</td></tr>"
        )
    head = "<tr><th>label</th><th>images</th><th>found</th><th class=bar></th><th>answers right</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _skipped(evaluation: Evaluation) -> str:
    if not evaluation.bad:
        return ""
    reasons = "".join(f"<li>{escape(each.reason)}</li>" for each in evaluation.bad)
    return f"\n<h2>Images that could not be read</h2>\n<ul>{reasons}</ul>"
