"""How good and how fast is the embedded backbone? Beside the same shape untrained, raw pixels, and a real ViT-Ti/16.

python benchmarks/nano.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from common import VIT_TINY, cifar, run, with_features
from rich.console import Console
from rich.table import Table

from foro import KnowledgeEncoder
from foro.backbones import Backbone, Checkpoint, load_backbone, load_checkpoint
from foro.features.extractor import Extractor
from foro.research.datasets.registry import load_dataset
from foro.research.protocol.streams import Stream, class_incremental

Features = Callable[[np.ndarray], np.ndarray]


def untrained(checkpoint: Checkpoint, seed: int = 0) -> Checkpoint:
    """The same architecture as a training run would start from: weights of deviation 0.02, norms of one."""
    generator = np.random.default_rng(seed)
    tensors = {}
    for name, tensor in checkpoint.tensors.items():
        if "norm" in name or name.endswith(".bias"):
            tensors[name] = np.full_like(tensor, float(name.endswith("weight")))
        else:
            tensors[name] = 0.02 * generator.standard_normal(tensor.shape, dtype=np.float32)
    return Checkpoint.from_tensors(tensors, checkpoint.config)


def of_backbone(backbone: Backbone) -> Features:
    extractor = Extractor(backbone)
    return lambda images: np.concatenate([layers[:, -1] for layers in extractor.layers(images, None)])


def of_pixels(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1) / 255.0


def accuracy(stream: Stream, features: Features, projection_dim: int | None) -> str:
    seen = with_features(stream, features)
    encoder = KnowledgeEncoder(seen.dataset.train.images.shape[1], projection_dim)
    average, forgetting = run(seen, encoder.absorb, encoder.predict)
    return f"{average:.1f} % ({forgetting:.1f})"


def images_per_second(backbone: Backbone, count: int = 512) -> float:
    side = backbone.image_size
    pixels = np.random.default_rng(0).standard_normal((count, 3, side, side), dtype=np.float32)
    backbone.forward(backbone.embed(pixels[:64]))
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        backbone.forward(backbone.embed(pixels))
        best = min(best, time.perf_counter() - start)
    return count / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train-per-class", type=int, default=50, help="of CIFAR-100, which itself has 500")
    parser.add_argument("--test-per-class", type=int, default=20, help="of CIFAR-100, which itself has 100")
    parser.add_argument("--backbone", default="nano")
    parser.add_argument("--without-vit-tiny", action="store_true", help="leave out the slow row")
    options = parser.parse_args()
    objects = class_incremental(cifar(options.train_per_class, options.test_per_class), tasks=10)
    digits = class_incremental(load_dataset("digits"), tasks=5)
    checkpoint = load_checkpoint(options.backbone)
    rows: list[tuple[str, Features, Backbone | None, int | None]] = []
    for name, backbone in [
        (options.backbone, load_backbone(checkpoint)),
        (f"{options.backbone}, untrained", load_backbone(untrained(checkpoint))),
        *([] if options.without_vit_tiny else [("ViT-Ti/16", load_backbone(VIT_TINY))]),
    ]:
        rows.append((name, of_backbone(backbone), backbone, 8192))
    rows.insert(2, ("raw pixels, linear", of_pixels, None, None))
    table = Table(title="Policy none, γ auto: average accuracy (forgetting) after the last task")
    table.add_column("features")
    for heading in ("CIFAR-100, T = 10", "digits, T = 5", "images a second"):
        table.add_column(heading, justify="right")
    for name, features, backbone, size in rows:
        speed = "" if backbone is None else f"{images_per_second(backbone):.0f}"
        table.add_row(name, accuracy(objects, features, size), accuracy(digits, features, size), speed)
    console = Console(width=120)
    console.print(objects.dataset.description, digits.dataset.description, sep="\n")
    console.print(table)
    console.print(f"{load_backbone(checkpoint).name}, weights {checkpoint.fingerprint}")


if __name__ == "__main__":
    main()
