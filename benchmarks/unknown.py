"""Does it know what it does not know? Half of the classes are learned, images of the other half are asked for too.

AUROC of known against unknown images by the chance of being unknown, beside the highest probability and the best score;
then the share of unknown images that is refused where 95 % of the known ones are kept, and what the default does.

python benchmarks/unknown.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from common import DATA, VIT_TINY
from rich.console import Console
from rich.table import Table
from scipy.stats import rankdata

from foro import Learner
from foro.backbones import load_backbone
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.heads.head import Head
from foro.research.datasets.registry import load_dataset

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=50, help="known ones, and as many unknown ones")
    parser.add_argument("--draws", type=int, default=4, help="choices of classes")
    parser.add_argument("--train-per-class", type=int, default=8)
    parser.add_argument("--test-per-class", type=int, default=4)
    parser.add_argument("--image-size", type=int, default=112, help="of ViT-Ti/16; 224 is its own, and slow")
    parser.add_argument("--backbones", nargs="+", default=["nano", "vit_tiny"], choices=["nano", "vit_tiny"])
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"no real images in {DATA}; set FORO_SHARED_DATA")
    table = Table(title=f"{options.classes} known and as many unknown classes, mean of {options.draws} draws")
    headings = "AUROC: probability", "score", "familiarity"
    later = "refused at 95 % kept: probability", "score", "familiarity", "by default: known", "unknown"
    for heading in ("backbone", "data", *headings, *later):
        table.add_column(heading, justify="left" if heading in ("backbone", "data") else "right")
    for name in options.backbones:
        backbone = load_backbone("nano") if name == "nano" else load_backbone(VIT_TINY, image_size=options.image_size)
        extractor, readout = Extractor(backbone), Readout.of("groups", backbone)
        for data in ("cub200", "cifar100"):
            dataset = load_dataset(data, DATA).subset(options.train_per_class, options.test_per_class)
            parts = [
                (np.concatenate(list(extractor.features(part.images, readout))), np.array(part.labels))
                for part in (dataset.train, dataset.test)
            ]
            rows = []
            for draw in range(options.draws):
                drawn = np.random.default_rng(draw).permutation(sorted(dataset.classes))[: 2 * options.classes]
                known, unknown = drawn[: options.classes], drawn[options.classes :]
                (X, y), (new, truth) = parts
                head = Learner(backbone, seed=draw).head
                learned = np.isin(y, known)
                head.absorb(X[learned], y[learned].tolist())
                rows.append(measure(head, new[np.isin(truth, known)], new[np.isin(truth, unknown)]))
            means = [f"{value:.1f}" for value in np.mean(rows, axis=0)]
            table.add_row(f"{name}, {backbone.image_size} px", dataset.description, *means)
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
