"""Class-incremental streams: a data set cut into tasks, reproducible from a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError
from foro.images.samples import Samples
from foro.research.datasets.dataset import Dataset

if TYPE_CHECKING:
    from foro.types import Label

Positions = NDArray[np.intp]

NOWHERE = -1
"""The task of a train image that an imbalanced stream leaves out."""


@dataclass(frozen=True, eq=False)
class Task:
    """The t-th task, counted from 1: the classes it introduces, and ascending positions in the data set's samples.

    ``test`` has the images of its own classes only; so has ``train``, unless the stream is blurry.
    """

    number: int
    labels: tuple[Label, ...]
    train: Positions
    test: Positions


@dataclass(frozen=True, eq=False)
class Stream:
    """Tasks in the order in which they are learned, with every sample in one of them unless it is imbalanced."""

    dataset: Dataset
    tasks: tuple[Task, ...]
    description: str

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def train(self, task: Task) -> Samples:
        """The samples that a learner is trained on in this task."""
        return self.dataset.train.take(task.train)

    def test(self, task: Task) -> Samples:
        """The samples that it is tested on, from this task on."""
        return self.dataset.test.take(task.test)


def class_incremental(
    dataset: Dataset, tasks: int | Sequence[int], seed: int = 0, blur: float = 0.0, imbalance: float = 1.0
) -> Stream:
    """A stream of tasks that introduce disjoint classes, in an order drawn from the seed.

    Args:
        dataset: what is cut.
        tasks: how many tasks, as equal as possible (the first ones get one class more where they cannot be equal);
            or the number of classes of each task, such as ``[50, 10, 10, 10, 10, 10]``.
        seed: of the order of the classes, of the blur and of which classes are small.
        blur: share of each class's train images that appear in other tasks, each in one drawn at random. The order of
            the classes does not depend on it.
        imbalance: how many times more train images the largest class keeps than the smallest; those between fall
            geometrically. All test images stay.
    """
    classes = dataset.classes
    sizes = _sizes(len(classes), tasks)
    if not 0 <= blur < 1:
        raise InputError(f"blur must be at least 0 and less than 1, not {blur}")
    if blur and len(sizes) == 1:
        raise InputError("a blurry stream needs at least 2 tasks")
    if not 1 <= imbalance < math.inf:
        raise InputError(f"imbalance must be at least 1, not {imbalance}")
    order = np.random.default_rng(seed).permutation(len(classes))
    ends = np.cumsum(sizes)
    labels = [tuple(classes[i] for i in order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    train = _assign(dataset.train, labels)
    if imbalance > 1:
        _imbalance(train, dataset.train, imbalance, np.random.default_rng([seed, 2]))
    if blur:
        _blur(train, dataset.train, blur, len(sizes), np.random.default_rng([seed, 1]))
    test = _assign(dataset.test, labels)
    cut = tuple(
        Task(number + 1, names, np.flatnonzero(train == number), np.flatnonzero(test == number))
        for number, names in enumerate(labels)
    )
    for task in cut:
        if not len(task.test):
            raise InputError(f"task {task.number} cannot be tested: {dataset.title} has no test images of its classes")
    return Stream(dataset, cut, f"{dataset.description}; {_describe(sizes, tasks, seed, blur, imbalance)}")


def _sizes(classes: int, tasks: int | Sequence[int]) -> list[int]:
    """Classes of each task."""
    if isinstance(tasks, int):
        if not 1 <= tasks <= classes:
            raise InputError(f"{classes} classes cannot be cut into {tasks} tasks")
        return [classes // tasks + (number < classes % tasks) for number in range(tasks)]
    sizes = list(tasks)
    if not sizes or min(sizes) < 1:
        raise InputError(f"every task needs at least 1 class; the sizes given are {sizes}")
    if sum(sizes) != classes:
        raise InputError(f"the tasks have {sum(sizes)} classes altogether, but there are {classes}")
    return sizes


def _assign(samples: Samples, labels: list[tuple[Label, ...]]) -> Positions:
    """Number of the task (n,) that introduces each sample's class, counted from 0."""
    home = {label: number for number, names in enumerate(labels) for label in names}
    return np.array([home[label] for label in samples.labels], dtype=np.intp)


def _imbalance(assigned: Positions, samples: Samples, ratio: float, generator: np.random.Generator) -> None:
    """Takes all but the first images of each class out of every task, in place; which classes stay large is drawn."""
    labels = sorted(samples.positions)
    for rank, place in enumerate(generator.permutation(len(labels))):
        positions = samples.positions[labels[place]]
        share = ratio ** -(rank / max(1, len(labels) - 1))
        assigned[positions[max(1, round(share * len(positions))) :]] = NOWHERE


def _blur(assigned: Positions, samples: Samples, share: float, tasks: int, generator: np.random.Generator) -> None:
    """Moves a share of each class to tasks other than its own, in place."""
    for label in sorted(samples.positions):
        positions = np.array(samples.positions[label])
        positions = positions[assigned[positions] != NOWHERE]
        count = math.floor(share * len(positions) + 1e-9)  # 0.29 × 100 is 28.999…
        moved = generator.choice(positions, count, replace=False)
        assigned[moved] = (assigned[moved] + generator.integers(1, tasks, count)) % tasks


def _describe(sizes: list[int], tasks: int | Sequence[int], seed: int, blur: float, imbalance: float) -> str:
    if not isinstance(tasks, int) and len(set(sizes)) > 1:
        cut = f"{len(sizes)} tasks of {', '.join(map(str, sizes))} classes"
    elif len(set(sizes)) > 1:
        cut = f"{len(sizes)} tasks of {max(sizes)} or {min(sizes)} classes, as {sum(sizes)} cannot be cut evenly"
    else:
        cut = f"{len(sizes)} task{'s' * (len(sizes) > 1)} of {sizes[0]} class{'es' * (sizes[0] > 1)}"
    blurred = f", {100 * blur:g} % of each class's train images in other tasks" if blur else ""
    uneven = f", the largest class with {imbalance:g} times the train images of the smallest" if imbalance > 1 else ""
    return f"{cut}, class order from seed {seed}{blurred}{uneven}"
