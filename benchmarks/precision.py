"""Is a backbone with int8 weights as good, and how much faster? Beside float32, the same images and head.

    python benchmarks/precision.py [--train-per-class 8] [--test-per-class 5] [--image-size 224]

ViT-Ti/16 on a subset of CIFAR-100, weights quantised per channel and activations as they come. Worth offering from
1.3 times the speed within 0.5 points. Seconds are of processors; the accuracies are of the same test images.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from common import VIT_TINY, cifar
from rich.console import Console
from rich.table import Table

from foro import Learner
from foro.backbones import load_backbone

SEEDS = 5
"""Projections that the accuracy is the mean of; the features are the same."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train-per-class", type=int, default=8)
    parser.add_argument("--test-per-class", type=int, default=5)
    parser.add_argument("--image-size", type=int, default=224)
    options = parser.parse_args()
    data = cifar(options.train_per_class, options.test_per_class)
    images = len(data.train) + len(data.test)
    size = f"{options.train_per_class} / {options.test_per_class} images a class"
    table = Table(title=f"ViT-Ti/16 at {options.image_size} px, CIFAR-100, {size}")
    for heading in ("", "images a second of a processor", "ratio", "accuracy", "points"):
        table.add_column(heading, justify="right" if heading else "left")
    first: tuple[float, np.ndarray] | None = None
    for precision in ("float32", "int8"):
        learner = Learner(
            load_backbone(VIT_TINY, image_size=options.image_size, precision=precision), projection_dim=2048
        )
        start = time.process_time()
        train, test = (learner.features(part.images) for part in (data.train, data.test))
        speed = images / (time.process_time() - start)
        right = []
        for seed in range(SEEDS):
            head = type(learner.head).build(learner.head.features, learner.readout.blocks(2048), learner.config, seed)
            head.absorb(train, data.train.labels)
            right.append([a == b for a, b in zip(head.predict(test), data.test.labels, strict=True)])
        correct = np.mean(right, axis=0)  # of each test image
        first = first or (speed, correct)
        difference = 100 * (correct - first[1])
        error = difference.std() / np.sqrt(len(difference))
        table.add_row(
            precision,
            f"{speed:.1f}",
            f"{speed / first[0]:.2f} ×",
            f"{100 * correct.mean():.1f} %",
            "" if precision == "float32" else f"{difference.mean():+.1f} ± {error:.1f}",
        )
    Console(width=120).print(table, f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
