"""Does evolving a prompt pay? Policy freeze against none, CIFAR-100, a real ViT-Ti/16 away from its own input size.

python benchmarks/prompt_gain.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import VIT_TINY, cifar, run, with_features
from rich.console import Console
from rich.table import Table

from foro import Learner
from foro.backbones import load_backbone
from foro.research.protocol.streams import class_incremental


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image-size", type=int, default=112)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--train-per-class", type=int, default=30, help="CIFAR-100 itself has 500")
    parser.add_argument("--test-per-class", type=int, default=10, help="CIFAR-100 itself has 100")
    parser.add_argument("--size", type=int, default=2048, help="M")
    parser.add_argument("--backbone", default=str(VIT_TINY))
    parser.add_argument("--threads", type=int, help="of the backbone; all cores if not given")
    options = parser.parse_args()
    policies = ("none", "freeze")
    backbone = load_backbone(options.backbone, image_size=options.image_size, threads=options.threads)
    console = Console(width=120)
    dataset = cifar(options.train_per_class, options.test_per_class)
    console.print(dataset.description)
    table = Table(title=f"T = {options.tasks}, {backbone.name} at {options.image_size} px")
    table.add_column("seed", justify="right")
    for policy in policies:
        table.add_column(f"{policy}: A, F, seconds", justify="right")
    accuracies: dict[str, list[float]] = {policy: [] for policy in policies}
    for seed in map(int, options.seeds.split(",")):
        stream = class_incremental(dataset, options.tasks, seed)
        cells = []
        for policy in policies:
            learner = Learner(backbone, policy=policy, seed=seed, projection_dim=options.size)
            start = time.perf_counter()
            first = stream.train(stream.tasks[0])
            learner.learn(first.images, first.labels)
            # From here on the prompt, and with it every feature, is fixed: each image goes through the backbone once.
            encoder = learner.encoder.blank()
            accuracy, forgetting = run(with_features(stream, learner.features), encoder.absorb, encoder.predict)
            accuracies[policy].append(accuracy)
            kept = "" if policy == "none" else " (prompt)" if learner.prompt is not None else " (empty prompt)"
            cells.append(f"{accuracy:.1f} %, {forgetting:.1f} %, {time.perf_counter() - start:.0f}{kept}")
            console.print(f"seed {seed}, {policy}: {cells[-1]}")
        table.add_row(str(seed), *cells)
    table.add_row("mean A", *(f"{np.mean(accuracies[policy]):.1f} %" for policy in policies), end_section=True)
    console.print(table)


if __name__ == "__main__":
    main()
