"""Does the chosen regularisation pay? KEM on CIFAR-100 with a real ViT-Ti/16, γ auto against the paper's γ = 0.1.

python benchmarks/regularisation.py
"""

from __future__ import annotations

import argparse

import numpy as np
from common import VIT_TINY, cifar, run, with_features
from rich.console import Console
from rich.table import Table

from foro import KnowledgeEncoder
from foro.backbones import load_backbone
from foro.features.extractor import Extractor
from foro.research.protocol.streams import class_incremental
from foro.util.progress import progress_bar


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--train-per-class", type=int, default=50, help="CIFAR-100 itself has 500")
    parser.add_argument("--test-per-class", type=int, default=20, help="CIFAR-100 itself has 100")
    parser.add_argument("--size", type=int, default=8192, help="M")
    parser.add_argument("--backbone", default=str(VIT_TINY))
    options = parser.parse_args()
    stream = class_incremental(cifar(options.train_per_class, options.test_per_class), options.tasks)
    extractor = Extractor(load_backbone(options.backbone))

    def features(images: np.ndarray) -> np.ndarray:
        parts = []
        with progress_bar("features", len(images)) as advance:
            for layers in extractor.layers(images, None):
                parts.append(layers[:, -1])
                advance(len(layers))
        return np.concatenate(parts)

    table = Table(title=f"policy none, M = {options.size}, T = {options.tasks}", caption=extractor.backbone.name)
    console = Console(width=120)
    console.print(stream.dataset.description)
    stream = with_features(stream, features)  # they depend on nothing that is learned
    for heading in ("γ", "average accuracy", "average forgetting", "last γ used"):
        table.add_column(heading, justify="right")
    for gamma in ("auto", 0.1):
        encoder = KnowledgeEncoder(extractor.backbone.dim, options.size, gamma)
        accuracy, forgetting = run(stream, encoder.absorb, encoder.predict)
        table.add_row(str(gamma), f"{accuracy:.1f} %", f"{forgetting:.1f} %", f"{encoder.regularisation_used:.4g}")
    console.print(table)


if __name__ == "__main__":
    main()
