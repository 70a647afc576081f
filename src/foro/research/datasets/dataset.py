"""A data set: train and test samples, and a description that says if they are a subset."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foro.errors import DataError, InputError
from foro.images.samples import Samples

if TYPE_CHECKING:
    from foro.types import Label


@dataclass(frozen=True, eq=False)
class Dataset:
    """Train and test samples of the same classes.

    ``split`` says where the division into train and test comes from. ``full`` is the mean number of train and of test
    images a class in the complete data set, and ``full_classes`` the number of its classes, so that a part of it is
    always described as one; None: this is all.
    """

    name: str
    title: str
    train: Samples
    test: Samples
    split: str
    full: tuple[float, float] | None = None
    full_classes: int | None = None

    def __post_init__(self) -> None:
        for part, samples in (("train", self.train), ("test", self.test)):
            if not len(samples):
                raise DataError(f"{self.title} has no {part} images")
        unknown = [label for label in self.test.positions if label not in self.train.positions]
        if unknown:
            raise DataError(f"{self.title} has test images but no train images of the class {unknown[0]}")

    @property
    def classes(self) -> list[Label]:
        """Labels of all classes, sorted."""
        return sorted(self.train.positions)

    @property
    def description(self) -> str:
        """One line: ``CIFAR-100: 100 classes, 50 of 500 train and 20 of 100 test images a class; official split``."""
        full_train, full_test = self._full
        train, test = _share(self.train, full_train), _share(self.test, full_test)
        classes = len(self.classes)
        of = f" of {self.full_classes}" if classes != (self.full_classes or classes) else ""
        return f"{self.title}: {classes}{of} classes, {train} train and {test} test images a class; {self.split}"

    @property
    def complete(self) -> bool:
        """Whether this is the complete data set as published."""
        parts = zip((self.train, self.test), self._full, strict=True)
        classes = len(self.classes)
        return classes == (self.full_classes or classes) and all(
            round(_mean(part)) >= round(full) for part, full in parts
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 that identifies the data, wherever they are stored; results and cached features are keyed on it."""
        return hashlib.sha256(f"{self.train.fingerprint} {self.test.fingerprint}".encode()).hexdigest()

    def subset(self, train_per_class: int | None = None, test_per_class: int | None = None) -> Dataset:
        """The first images of every class in the data set's own order; None keeps all.

        It depends on no seed, so a smaller subset is always contained in a larger one.
        """
        if train_per_class is None and test_per_class is None:
            return self
        for part, most in (("train", train_per_class), ("test", test_per_class)):
            if most is not None and most < 1:
                raise InputError(f"a subset needs at least 1 {part} image a class, not {most}")
        return replace(
            self,
            train=self.train if train_per_class is None else self.train.first(train_per_class),
            test=self.test if test_per_class is None else self.test.first(test_per_class),
            full=self._full,
            split=f"{self.split.removesuffix(_FIRST)}{_FIRST}",
        )

    @property
    def _full(self) -> tuple[float, float]:
        return self.full or (_mean(self.train), _mean(self.test))


_FIRST = ", the first images of each class"


def _mean(samples: Samples) -> float:
    return len(samples) / len(samples.positions)


def _share(samples: Samples, full: float) -> str:
    """``50 of 500``, or ``500`` where nothing is missing; ``about 30`` where classes differ."""
    counts = {len(positions) for positions in samples.positions.values()}
    mean = _mean(samples)
    here = f"{mean:.0f}" if len(counts) == 1 else f"about {mean:.0f}"
    if round(mean) == round(full):
        return here
    return f"{here} of {full:.0f}" if float(full).is_integer() else f"{here} of about {full:.0f}"
