"""The page of an evaluation: one HTML file with everything inside."""

from __future__ import annotations

from pathlib import Path

from foro.evaluation.evaluation import Evaluation
from foro.evaluation.pictures import draw_confusion, draw_reliability
from foro.util.html import render, svg, write_page


def write_evaluation(evaluation: Evaluation, model: str, data: str, path: Path) -> None:
    """Writes the page."""
    write_page(path, render_evaluation(evaluation, model, data))


def render_evaluation(evaluation: Evaluation, model: str, data: str) -> str:
    """The page as HTML; ``model`` and ``data`` say what was evaluated."""
    return render(
        "evaluation/templates/evaluation.html.j2",
        evaluation=evaluation,
        model=model,
        data=data,
        classes=sorted(evaluation.classes, key=lambda each: (each.accuracy is None, each.accuracy or 0.0)),
        confusion=svg(draw_confusion(evaluation), "confusion-"),
        reliability=svg(draw_reliability(evaluation), "reliability-"),
    )
