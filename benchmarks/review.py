"""Does it find wrong labels? Some labels are flipped, all are learned, and every image is judged as if it had not been.

Average precision of the ranking and recall among the first as many images as were flipped, beside cleanlab: on the same
out-of-sample probabilities, which weigh scores and distances to the classes, and on those of the classifier alone. Then
the labels that are called wrong, how many of them are, and of the flipped ones how many got their true label suggested.
Last, how mistakes on test images fall with the number of images a class.

python benchmarks/review.py
python benchmarks/review.py --sets "nano cub200" --size 8192 --draws 1

Features are computed once and kept in runs/features; a draw that is there is not computed again (runs/review.jsonl).
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from common import BACKBONES, features_of, first_of_each, remembered
from rich.console import Console
from rich.table import Table

from foro import KnowledgeEncoder, load_backbone
from foro.evaluation.doubts import Doubts
from foro.features.readout import Readout
from foro.heads.calibration import probabilities

COUNTS = (2, 4, 8, 16)
SETS = "vit-tiny-224 cub200,vit-tiny-112 cifar100,nano cub200,nano cifar100"


def flipped(classes: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """Class numbers (n,) of which a share is changed into any other one."""
    found, number = classes.copy(), int(classes.max()) + 1
    chosen = generator.choice(len(classes), round(share * len(classes)), replace=False)
    found[chosen] = (classes[chosen] + generator.integers(1, number, len(chosen))) % number
    return found


def ranking(order: np.ndarray, wrong: np.ndarray) -> list[float]:
    """Average precision, and recall among the first as many as are wrong, in percent."""
    hits = wrong[order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return [100 * float(precision[hits].mean()), 100 * float(hits[: wrong.sum()].mean())]


def called(numbers: np.ndarray, wrong: np.ndarray) -> list[float]:
    """How many labels are called wrong, in percent of all that are, and how many of these are, in percent."""
    return [100 * len(numbers) / wrong.sum(), 100 * float(wrong[numbers].mean()) if len(numbers) else np.nan]


def measure(head: KnowledgeEncoder, X: np.ndarray, truth: np.ndarray, given: np.ndarray) -> dict[str, list[float]]:
    """Figures of each way to find the wrong ones of the given labels, all of which the head learns."""
    head.absorb(X, given.tolist())
    left = head.left_out(X, [[int(label)] for label in given])
    assert left.distances is not None
    columns = [head.labels.index(label) for label in range(int(truth.max()) + 1)]
    scores, distances, wrong = left.scores[:, columns], left.distances[:, columns], truth != given
    found = Doubts.fit(given, scores, distances)
    suggested = [100 * float((found.suggested == truth)[wrong].mean())]
    rows = {"FoRo": [*ranking(found.order, wrong), *called(np.flatnonzero(found.wrong >= 0.5), wrong), *suggested]}
    ways = {
        "cleanlab, same probabilities": found.probabilities,
        "cleanlab, the classifier's": probabilities(scores, head.sharpness),
    }
    for name, likely in ways.items():
        order = np.argsort(get_label_quality_scores(given, likely), kind="stable")
        issues = np.flatnonzero(find_label_issues(given, likely, n_jobs=1))
        others = likely.copy()
        others[np.arange(len(given)), given] = -1.0
        right = 100 * float((others.argmax(axis=1) == truth)[wrong].mean())
        rows[name] = [*ranking(order, wrong), *called(issues, wrong), right]
    return rows


def measured(chosen: str, options: argparse.Namespace) -> tuple[int, list[dict[str, list[float]]], dict[int, float]]:
    """Of a backbone and a data set: the number of images, the figures of each draw, and mistakes by images a class."""
    name, data = chosen.split()
    place, side = BACKBONES[name]
    backbone = load_backbone(place, image_size=side, threads=options.threads)
    readout, size = Readout.of("groups", backbone), options.size
    _, (X, labels), (new, new_labels) = features_of(backbone, data)
    few = first_of_each(labels, options.per_class)
    truth = np.unique(labels[few], return_inverse=True)[1]

    def head(seed: int) -> KnowledgeEncoder:
        return KnowledgeEncoder(readout.features, size, seed=seed, blocks=readout.blocks(size))

    def figures(draw: int) -> dict[str, list[float]]:
        return measure(head(draw), X[few], truth, flipped(truth, options.share, np.random.default_rng(draw)))

    def mistakes(count: int) -> float:
        some, learned = first_of_each(labels, count), head(0)
        learned.absorb(X[some], labels[some].tolist())
        return float(np.mean(np.array(learned.predict(new)) != new_labels))

    draws = [
        remembered("review.jsonl", [chosen, size, options.share, len(truth), draw], partial(figures, draw))
        for draw in range(options.draws)
    ]
    counts = [count for count in COUNTS if count <= (labels == labels[0]).sum()]
    curve = {count: remembered("review.jsonl", [chosen, size, count], partial(mistakes, count)) for count in counts}
    return len(truth), draws, curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=SETS, help="backbone and data set, separated by commas")
    parser.add_argument("--share", type=float, default=0.05, help="of labels that are flipped")
    parser.add_argument("--draws", type=int, default=3, help="choices of what is flipped")
    parser.add_argument("--per-class", type=int, default=20, help="images, as far as there are so many")
    parser.add_argument("--size", type=int, default=2048, help="M")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    console, curves = Console(width=150), []
    table = Table(
        title=f"{options.share:.0%} of labels flipped, mean of {options.draws} draws, M = {options.size}, in %"
    )
    figures = "average precision", "recall", "called wrong / flipped", "of these flipped", "right suggestions"
    for heading in ("backbone and data", "images", "by", *figures):
        table.add_column(heading, justify="right" if heading in ("images", *figures) else "left")
    for chosen in options.sets.split(","):
        images, draws, curve = measured(chosen, options)
        for number, way in enumerate(draws[0]):
            means = np.mean([draw[way] for draw in draws], axis=0)
            table.add_row(*(("", "") if number else (chosen, str(images))), way, *(f"{mean:.1f}" for mean in means))
        table.add_section()
        shares = np.array([*curve.values()])
        power = -np.polyfit(np.log([*curve]), np.log(shares / (1 - shares)), 1)[0]
        shown = ", ".join(f"{count}: {100 * share:.1f} %" for count, share in curve.items())
        curves.append(f"{chosen}: mistakes by images a class {shown}; power of their odds {power:.2f}")
    console.print(table)
    for line in curves:
        console.print(line, highlight=False)


if __name__ == "__main__":
    main()
