"""Does it know what it does not know? Some classes are learned, images of others are asked for too.

AUROC of known against unknown images by the chance of being unknown, beside the highest probability and the best score;
then the share of unknown images that is refused where 95 % of the known test images are kept, and what the default
refuses, which has seen no test image.

python benchmarks/unknown.py
python benchmarks/unknown.py --sets "vit-tiny-224 cub200 50" --draws 4

Features are computed once and kept in runs/features; a draw that is there is not computed again (runs/unknown.jsonl).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from common import BACKBONES, features_of, first_of_each, remembered
from rich.console import Console
from rich.table import Table
from scipy.stats import rankdata

from foro import Learner, load_backbone
from foro.heads.head import Head

SETS = "vit-tiny-224 cub200 50,vit-tiny-112 cifar100 50,nano cub200 50,nano cifar100 50,nano digits 7,nano digits 5"
KEPT = 0.95


def auroc(known: np.ndarray, unknown: np.ndarray) -> float:
    """In percent; ties count half."""
    ranks = rankdata(np.concatenate([known, unknown]))[len(known) :].sum()
    return 100 * (ranks - len(unknown) * (len(unknown) + 1) / 2) / len(known) / len(unknown)


def refused(known: np.ndarray, unknown: np.ndarray) -> float:
    """Percent of unknown images beyond what keeps 95 % of the known ones."""
    return 100 * float((unknown > np.quantile(known, KEPT)).mean())


def measure(head: Head, known: np.ndarray, unknown: np.ndarray) -> list[float]:
    """AUROC and refused by highest probability, best score and familiarity; refused by default of both."""
    familiarity = head.familiarity()
    assert familiarity is not None
    ways: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda X: -head.probabilities(X).max(axis=1),
        lambda X: -head.scores(X).max(axis=1),
        lambda X: familiarity.unknown(X, head.scores(X)),
    ]
    pairs = [(way(known), way(unknown)) for way in ways]
    beyond = [100 * float((each >= 0.5).mean()) for each in pairs[-1]]
    return [*(auroc(*pair) for pair in pairs), *(refused(*pair) for pair in pairs), *beyond]


def draws_of(chosen: str, draws: int, most: int, threads: int | None) -> list[str]:
    """The row of a backbone, a data set and a number of known classes, of which at most so many images are learned."""
    name, data, classes = chosen.split()
    place, size = BACKBONES[name]
    backbone = load_backbone(place, image_size=size, threads=threads)
    dataset, (X, y), (new, truth) = features_of(backbone, data)

    def compute(draw: int) -> list[float]:
        """Number of known and of unknown classes and of images learned, and the figures."""
        drawn = np.random.default_rng(draw).permutation(sorted(dataset.classes))
        known, unknown = drawn[: int(classes)], drawn[int(classes) : 2 * int(classes)]
        learned = np.isin(y, known) & first_of_each(y, most)
        head = Learner(backbone, seed=draw).head
        head.absorb(X[learned], y[learned].tolist())
        figures = measure(head, new[np.isin(truth, known)], new[np.isin(truth, unknown)])
        return [len(known), len(unknown), int(learned.sum()), *figures]

    rows = [remembered("unknown.jsonl", [chosen, most, draw], partial(compute, draw)) for draw in range(draws)]
    known, unknown, learned, *means = np.mean(rows, axis=0)
    return [name, dataset.title, f"{known:.0f} / {unknown:.0f}", f"{learned:.0f}", *(f"{mean:.1f}" for mean in means)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=SETS, help="backbone, data set and number of known classes; commas between")
    parser.add_argument("--draws", type=int, default=4, help="choices of classes")
    parser.add_argument("--learned-per-class", type=int, default=20, help="images, as far as there are so many")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    table = Table(title=f"known and unknown classes, mean of {options.draws} draws, in %")
    headings = "AUROC: probability", "score", "familiarity"
    later = "refused at 95 % kept: probability", "score", "familiarity", "by default: known", "unknown"
    for heading in ("backbone", "data", "known / unknown classes", "images learned", *headings, *later):
        table.add_column(heading, justify="left" if heading in ("backbone", "data") else "right")
    for each in options.sets.split(","):
        table.add_row(*draws_of(each, options.draws, options.learned_per_class, options.threads))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
