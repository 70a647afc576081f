"""What the benchmarks on real images share: where these are, and the accuracies that a stream ends with."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from foro.evaluation.continual import average_accuracy, average_forgetting
from foro.images.samples import Samples
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.registry import load_dataset
from foro.research.protocol.streams import Stream

DATA = Path(os.environ.get("FORO_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
VIT_TINY = DATA / "vit_tiny_patch16_224.augreg_in21k_ft_in1k"


def cifar(train_per_class: int, test_per_class: int) -> Dataset:
    """CIFAR-100, the first images of each class."""
    return images_of("cifar100", train_per_class, test_per_class)


def images_of(name: str, train_per_class: int, test_per_class: int) -> Dataset:
    """A data set of real images, the first of each class."""
    if not DATA.is_dir():
        sys.exit(f"no real images in {DATA}; set FORO_SHARED_DATA")
    return load_dataset(name, DATA).subset(train_per_class, test_per_class)


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
