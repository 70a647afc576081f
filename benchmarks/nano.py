"""How good and how fast is the embedded backbone? Beside the same shape untrained, raw pixels, and a real ViT-Ti/16.

python benchmarks/nano.py
python benchmarks/nano.py --backbone nano nano@1   # editions beside each other
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from common import VIT_TINY, cifar, images_of, run, with_features
from rich.console import Console
from rich.table import Table

from foro import KnowledgeEncoder
from foro.backbones import Backbone, Checkpoint, load_backbone, load_checkpoint
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.registry import load_dataset
from foro.research.protocol.streams import Stream, class_incremental

SIZE = 8192


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


def of_pixels(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1) / 255.0


def accuracy(streams: Sequence[Stream], backbone: Backbone | None) -> str:
    """Mean A and forgetting of the default readout of a backbone at M = 8192; None: of raw pixels, not projected."""
    found = []
    for stream in streams:
        if backbone is None:
            features, encoder = of_pixels, KnowledgeEncoder(stream.dataset.train.images[0].size, None)
        else:
            readout, extractor = Readout.of("groups", backbone), Extractor(backbone)
            encoder = KnowledgeEncoder(readout.features, SIZE, blocks=readout.blocks(SIZE))
            features = lambda images: np.concatenate(list(extractor.features(images, readout)))  # noqa: B023, E731
        found.append(run(with_features(stream, features), encoder.absorb, encoder.predict))
    average, forgetting = np.mean(found, axis=0)
    return f"{average:.1f} % ({forgetting:.1f})"


def birds(classes: int) -> Iterator[Dataset]:
    """CUB-200 in groups of classes: photographs of the user's kind. One group alone has 80 test images."""
    whole = images_of("cub200", 8, 4)
    for start in range(0, len(whole.classes), classes):
        chosen = set(whole.classes[start : start + classes])
        train, test = (
            part.take(np.flatnonzero([label in chosen for label in part.labels])) for part in (whole.train, whole.test)
        )
        yield replace(whole, train=train, test=test)


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
    parser.add_argument("--backbone", nargs="+", default=["nano"], help="names or folders, a row each")
    parser.add_argument("--without-vit-tiny", action="store_true", help="leave out the slow row")
    options = parser.parse_args()
    streams = {
        "CIFAR-100, T = 10": [class_incremental(cifar(options.train_per_class, options.test_per_class), tasks=10)],
        "CUB-200, 10 × 20 classes, T = 4": [class_incremental(each, tasks=4) for each in birds(20)],
        "digits, T = 5": [class_incremental(load_dataset("digits"), tasks=5)],
    }
    checkpoints = {name: load_checkpoint(name) for name in options.backbone}
    first = options.backbone[0]
    rows: dict[str, Backbone | None] = {name: load_backbone(each) for name, each in checkpoints.items()}
    rows[f"{first}, untrained"] = load_backbone(untrained(checkpoints[first]))
    rows["raw pixels, linear"] = None
    if not options.without_vit_tiny:
        rows["ViT-Ti/16"] = load_backbone(VIT_TINY)
    table = Table(title=f"Nothing evolved, γ auto, M = {SIZE}: average accuracy (forgetting) after the last task")
    table.add_column("features")
    for heading in (*streams, "images a second"):
        table.add_column(heading, justify="right")
    for name, backbone in rows.items():
        # Photographs have many sizes: their pixels are no features.
        shown = [
            accuracy(each, backbone) if backbone or isinstance(each[0].dataset.train.images, np.ndarray) else ""
            for each in streams.values()
        ]
        table.add_row(name, *shown, "" if backbone is None else f"{images_per_second(backbone):.0f}")
    console = Console(width=120)
    console.print(*(each[0].dataset.description for each in streams.values()), sep="\n")
    console.print(table)
    for checkpoint in checkpoints.values():
        console.print(f"{checkpoint.name}, weights {checkpoint.fingerprint}")


if __name__ == "__main__":
    main()
