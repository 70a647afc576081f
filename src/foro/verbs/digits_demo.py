"""The demonstration: ten handwritten digits, two at a time, by a learner that does not forget and one that does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.evaluation.continual import average_accuracy, average_forgetting
from foro.heads.ridge import KnowledgeEncoder
from foro.images.digits import read_digits
from foro.learner import Learner
from foro.types import Float64
from foro.util.system import peak_megabytes

TASKS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))
LEARNERS = ("FoRo", "newest task only", "all data at once")
SETTINGS: dict[str, Any] = {"projection_dim": 2048, "search_images": 64, "generations": 5}
"""A narrower projection and a shorter search than by default: the demonstration should take less than a minute."""


@dataclass
class DemoResult:
    """Accuracy matrices (T, T) by learner, NaN where a task was not learned yet, and what it took."""

    seed: int
    accuracy: dict[str, Float64] = field(
        default_factory=lambda: {name: np.full((len(TASKS), len(TASKS)), np.nan) for name in LEARNERS}
    )
    images: int = 0
    seconds: float = 0.0  # of FoRo alone, learning and predicting
    backbone: str = ""
    adapted: bool = False

    @property
    def done(self) -> int:
        """Tasks learned so far."""
        return int((~np.isnan(self.accuracy["FoRo"][:, 0])).sum())

    def average(self, name: str) -> float:
        return average_accuracy(self.accuracy[name][: self.done, : self.done])

    def forgetting(self, name: str) -> float:
        return average_forgetting(self.accuracy[name][: self.done, : self.done])

    def after(self, task: int) -> DemoResult:
        """The result as it was when a task had just been learned."""
        accuracy = {name: matrix.copy() for name, matrix in self.accuracy.items()}
        for matrix in accuracy.values():
            matrix[task + 1 :] = np.nan
        return replace(self, accuracy=accuracy)

    def summary(self) -> dict[str, Any]:
        """Accuracies in percent, forgetting in points, and what it took."""
        foro, newest, joint = LEARNERS
        return {
            "accuracy": 100 * self.average(foro),
            "forgetting": 100 * self.forgetting(foro),
            "newest_accuracy": 100 * self.average(newest),
            "newest_forgetting": 100 * self.forgetting(newest),
            "joint_accuracy": 100 * self.average(joint),
            "images_per_second": self.images / self.seconds,
            "peak_megabytes": peak_megabytes(),
            "backbone": self.backbone,
            "adapted": self.adapted,
            "seed": self.seed,
        }


def run_demo(seed: int = 0) -> Iterator[DemoResult]:
    """Learns the digits, and yields the result so far after each task.

    The rivals see the same features: scikit-learn's SGD that is trained on the newest task only, and scikit-learn's
    ridge regression on the projected features of all tasks so far, which no continual learner may keep.
    """
    from sklearn.linear_model import Ridge, SGDClassifier
    from sklearn.preprocessing import StandardScaler

    (train_images, train_labels), (test_images, test_labels) = read_digits(seed)
    learner = Learner("nano", seed=seed, **SETTINGS)
    result = DemoResult(seed, backbone=learner.backbone.name)
    newest = SGDClassifier(random_state=seed)
    scaler = StandardScaler()
    kept_features: list[NDArray[np.float32]] = []
    kept_labels: list[int] = []
    test_features: dict[int, NDArray[np.float32]] = {}
    for now, classes in enumerate(TASKS):
        mine = [i for i, label in enumerate(train_labels) if label in classes]
        labels = [train_labels[i] for i in mine]
        start = time.perf_counter()
        learner.learn(train_images[mine], labels)
        result.seconds += time.perf_counter() - start
        result.images += len(mine)
        result.adapted = not learner.candidate.neutral

        features = learner.features(train_images[mine])
        if now == 0:
            scaler.fit(features)
        newest.partial_fit(scaler.transform(features), labels, classes=range(10))
        kept_features.append(features)
        kept_labels.extend(labels)
        assert isinstance(learner.head, KnowledgeEncoder)
        joint = Ridge(learner.head.regularisation_used, fit_intercept=False)
        joint.fit(learner.head.project(np.concatenate(kept_features)), np.eye(10)[kept_labels])

        for task, digits in enumerate(TASKS[: now + 1]):
            tested = [i for i, label in enumerate(test_labels) if label in digits]
            truth = np.array([test_labels[i] for i in tested])
            start = time.perf_counter()
            predicted = learner.predict(test_images[tested])
            result.seconds += time.perf_counter() - start
            result.images += len(tested)
            if task not in test_features:
                test_features[task] = learner.features(test_images[tested])
            answers = (
                predicted,
                newest.predict(scaler.transform(test_features[task])),
                joint.predict(learner.head.project(test_features[task])).argmax(axis=1),
            )
            for name, answer in zip(LEARNERS, answers, strict=True):
                result.accuracy[name][now, task] = np.mean(np.asarray(answer) == truth)
        yield result
