"""What the benchmarks on real images share: where these are, and the accuracies that a stream ends with."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foro.backbones import Backbone
from foro.evaluation.continual import average_accuracy, average_forgetting
from foro.features.cache import FeatureCache
from foro.features.readout import Readout
from foro.images.samples import Samples
from foro.images.task_images import TaskImages
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.registry import load_dataset
from foro.research.methods.cached_learner import CachedExtractor
from foro.research.protocol.streams import Stream
from foro.types import Label

DATA = Path(os.environ.get("FORO_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
VIT_TINY = DATA / "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
BACKBONES = {"nano": ("nano", None), "vit-tiny-224": (VIT_TINY, None), "vit-tiny-112": (VIT_TINY, 112)}
"""Where each backbone is, and its image size if not its own."""


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def digits_of(description: str | None) -> tuple[Sequence[Any], list[Label]]:
    """Handwritten digits and their labels, as many as ``--images`` says, for a script of this description."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--images", type=int, default=600)
    count = parser.parse_args().images
    train = load_dataset("digits").train
    return train.images[:count], train.labels[:count]


def cifar(train_per_class: int, test_per_class: int) -> Dataset:
    """CIFAR-100, the first images of each class."""
    return images_of("cifar100", train_per_class, test_per_class)


def images_of(name: str, train_per_class: int, test_per_class: int) -> Dataset:
    """A data set of real images, the first of each class."""
    if not DATA.is_dir():
        sys.exit(f"no real images in {DATA}; set FORO_SHARED_DATA")
    return load_dataset(name, DATA).subset(train_per_class, test_per_class)


def layers(backbone: Backbone, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """What is read of the train and the test images, (n, outputs, dim) each: computed once, kept in runs/features."""
    extractor = CachedExtractor(backbone, FeatureCache(Path("runs/features")))
    parts = (TaskImages(part, np.arange(len(part))) for part in (dataset.train, dataset.test))
    train, test = (np.concatenate(list(extractor.layers(images))) for images in parts)
    return train, test


def features_of(backbone: Backbone, name: str) -> tuple[Dataset, tuple, tuple]:
    """A data set, and features (n, d) with labels (n,) of its train and of its test images, as a learner reads them.

    Of CIFAR-100 30 train and 20 test images a class; of CUB-200 there are 8 and 4.
    """
    dataset = load_dataset("digits") if name == "digits" else images_of(name, 30, 20)
    readout = Readout.of("groups", backbone)
    train, test = (
        (readout(each).astype(np.float64), np.array(part.labels))
        for each, part in zip(layers(backbone, dataset), (dataset.train, dataset.test), strict=True)
    )
    return dataset, train, test


def first_of_each(labels: np.ndarray, most: int) -> np.ndarray:
    """Which samples (n,) are among the first so many of their label."""
    return np.array([np.count_nonzero(labels[:row] == label) < most for row, label in enumerate(labels)])


def remembered(path: str, key: list, compute: Callable[[], Any]) -> Any:
    """What was computed under a key and is in a file of JSON lines, or else is computed now and added to it."""
    file = Path("runs") / path
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    found = [row["value"] for row in rows if row["key"] == key]
    if not found:
        found = [compute()]
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as lines:
            lines.write(json.dumps({"key": key, "value": found[0]}) + "\n")
    return found[0]


def with_features(stream: Stream, features: Callable[[np.ndarray], np.ndarray]) -> Stream:
    """The same stream with each image replaced by its feature vector, computed once."""
    dataset = stream.dataset
    parts = [Samples(features(part.images), part.labels) for part in (dataset.train, dataset.test)]
    return Stream(Dataset(dataset.name, dataset.title, *parts, dataset.split, dataset.full), stream.tasks, "")


def run(stream: Stream, learn: Callable, predict: Callable) -> tuple[float, float]:
    """Average accuracy and average forgetting, in percent, after the last task."""
    tests = [stream.test(task) for task in stream]
    accuracy = np.full((len(stream), len(stream)), np.nan)
    for now, task in enumerate(stream):
        learn(stream.train(task).images, stream.train(task).labels)
        for earlier, test in enumerate(tests[: now + 1]):
            accuracy[now, earlier] = np.mean([a == b for a, b in zip(predict(test.images), test.labels, strict=True)])
    return 100 * average_accuracy(accuracy), 100 * average_forgetting(accuracy)
