"""Pictures of an evaluation: which labels are taken for which, and whether confidence means what it says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from foro.errors import InputError
from foro.evaluation.evaluation import BINS, Evaluation
from foro.util.atomic_files import write_asked
from foro.util.html import new_figure

GREEN, INK, PALE = "#1a7f37", "#1f2328", "#6e7781"
MOST_NAMES = 50
"""Classes that can be named along an axis."""
MOST_NUMBERS = 15
"""Classes whose cells have room for a number."""


def draw_confusion(evaluation: Evaluation) -> Any:
    """The confusion matrix, each row as shares of its true label's images."""
    counts = evaluation.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [_short(str(each.label)) for each in evaluation.classes]
    count = len(names)
    named = count <= MOST_NAMES
    side = min(9.0, 2.6 + 0.24 * count) if named else 6.5
    figure = new_figure(side + 1.0, side)
    axes = figure.subplots()
    image = axes.imshow(100 * shares, cmap="Greens", vmin=0, vmax=100)
    if named:
        size = 9 if count <= 25 else 6.5
        axes.set_xticks(range(count), names, rotation=90 if max(map(len, names)) > 3 else 0, fontsize=size)
        axes.set_yticks(range(count), names, fontsize=size)
    if count <= MOST_NUMBERS:
        for row, column in zip(*np.nonzero(counts), strict=True):
            ink = "white" if shares[row, column] > 0.55 else INK
            axes.text(column, row, counts[row, column], ha="center", va="center", color=ink, fontsize=8)
    axes.set(xlabel="answer", ylabel="true label")
    axes.tick_params(length=0, colors=INK)
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, shrink=0.7, label="% of the true label's images")
    return figure


def draw_reliability(evaluation: Evaluation) -> Any:
    """Accuracy against confidence: on the diagonal, 80 % sure is 80 % right; below, how many answers there are."""
    figure = new_figure(5.2, 5.0)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    width = 100 / BINS
    centres = width * (np.arange(BINS) + 0.5)
    filled = [each for each in evaluation.bins if each]
    heights = [100 * each.accuracy if each else 0.0 for each in evaluation.bins]
    upper.bar(centres, heights, 0.92 * width, color=GREEN, alpha=0.3)
    upper.plot([0, 100], [0, 100], "--", color=PALE, linewidth=1, label="as sure as right")
    upper.scatter(
        [100 * each.confidence for each in filled],
        [100 * each.accuracy for each in filled],
        [12 + 250 * each.images / len(evaluation) for each in filled],
        color=GREEN,
        label="answers of similar confidence; larger: more of them",
        zorder=3,
        clip_on=False,
    )
    upper.set(ylabel="right (%)", xlim=(0, 100), ylim=(0, 103))
    upper.legend(loc="upper left", frameon=False, fontsize=8, markerscale=0.6)
    lower.bar(centres, [each.images if each else 0 for each in evaluation.bins], 0.92 * width, color=PALE)
    lower.set(xlabel="confidence (%)", ylabel="answers")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_confusion(evaluation: Evaluation, path: Path) -> None:
    """Writes the confusion matrix as a picture of the kind that the file's ending names."""
    figure = draw_confusion(evaluation)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in figure.canvas.get_supported_filetypes():
        raise InputError(f"{path} does not end like a picture: try .png, .svg or .pdf")
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=120)
    write_asked(path, file.getvalue(), "the picture")


def _short(name: str, most: int = 28) -> str:
    # A dollar would start a formula.
    return (name if len(name) <= most else f"{name[: most - 1]}…").replace("$", r"\$")
