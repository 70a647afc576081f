"""What a head is: a closed-form classifier over feature vectors that keeps learning, and that can be exchanged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foro.config import LearnerConfig
from foro.errors import InputError, counted
from foro.heads.calibration import TYPICAL_SHARPNESS, probabilities
from foro.heads.familiarity import Familiarity
from foro.heads.projection import Block, RandomProjection
from foro.labels import check_labels, same_labels
from foro.types import Arrays, Float32, Float64, Label
from foro.util.interrupts import uninterrupted
from foro.util.threads import one_blas_thread

if TYPE_CHECKING:
    from typing_extensions import Self

Value = TypeVar("Value")

BLOCK = 256
"""Rows that are projected at once: enough for BLAS-3 speed, 16 MB at M = 8192."""

LARGEST_FEATURE = 1e100

PART = 16_384
"""Samples whose features are held at once while it is not yet certain that all of a task can be read."""


@dataclass(frozen=True)
class Estimate:
    """Leave-one-out accuracy: what to expect on new images of the same kind.

    ``accuracy`` is None where no sample could be judged. ``classes`` has, for every label, how many of its samples
    were judged and how many of these were classified correctly.
    """

    accuracy: float | None
    samples: int
    classes: dict[Label, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Of samples that were left out: scores (n, c), and squared distances (n, c) to the classes, if any are known.

    With each, its copies are left out: ``copies`` (n, c) says how many as which class, itself included; ``groups``
    has the numbers of each and its copies.
    """

    scores: Float64
    distances: Float64 | None
    copies: Float64
    groups: list[list[int]]


class Head(ABC):
    """A classifier over feature vectors (n, d) that learns samples, unlearns them, and adds up with others.

    It is linear in what it sees: scores = project(x) @ weights. A new head is one file with one subclass; what every
    head must keep is checked by ``tests/contracts/test_heads.py``.
    """

    features: int
    """Width d of the feature vectors."""

    projection: RandomProjection | None = None
    """From features (n, d) to what the weights see, (n, M); None: the features themselves."""

    @property
    @abstractmethod
    def labels(self) -> list[Label]:
        """Every label that can be predicted, in the order in which they were first learned."""

    @property
    @abstractmethod
    def counts(self) -> dict[Label, int]:
        """How many samples of each label were learned."""

    @property
    @abstractmethod
    def samples(self) -> int:
        """How many samples were learned."""

    @property
    @abstractmethod
    def forgotten(self) -> list[Label]:
        """Labels that were forgotten and can be restored."""

    @property
    @abstractmethod
    def weights(self) -> Float64:
        """The classifier W (M, c), read-only; solves for it if needed."""

    @classmethod
    @abstractmethod
    def build(cls, features: int, blocks: Sequence[Block], config: LearnerConfig, seed: int) -> Self:
        """A head for features of width d, with the settings of a learner; ``blocks`` is for its projection."""

    @abstractmethod
    def absorb(self, X: ArrayLike, labels: Sequence[Label] | NDArray[Any]) -> None:
        """Learns samples X (n, d) with their labels; new labels may come at any time, and old ones again."""

    @abstractmethod
    def merge(self, other: Head, order: Iterable[Label] | None = None) -> None:
        """Adds everything that ``other`` has learned; new labels come in the order of ``order``, or of ``other``."""

    @abstractmethod
    def difference(self, other: Head) -> str | None:
        """What stops the two from being merged, or None."""

    @abstractmethod
    def forget(self, label: Label) -> None:
        """Never predicts the label again, until it is restored."""

    @abstractmethod
    def restore(self, label: Label) -> None:
        """Takes ``forget`` back: the head is as if the label had never been forgotten, but it comes last."""

    @abstractmethod
    def rename(self, label: Label, to: Label) -> None:
        """Calls a known label something else; where that is known too, both are one, as if learned so at once."""

    @abstractmethod
    def blank(self) -> Self:
        """A head with the same settings that has learned nothing: the two can be merged."""

    @abstractmethod
    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready settings."""

    @classmethod
    @abstractmethod
    def from_state(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The head whose ``state`` this is; takes over the arrays."""

    @abstractmethod
    def take_back(self, features: Float64, labels: list[Label]) -> None:
        """Unlearns samples (n, d) of known labels, of each no more than were learned."""

    def unlearn(self, X: ArrayLike, labels: Sequence[Label] | NDArray[Any]) -> None:
        """Takes samples back that were absorbed before: the head is as if it had never seen them."""
        features, names = self.checked(X, labels)
        known = set(self.labels)
        hidden = [name for name in dict.fromkeys(names) if name in self.forgotten and name not in known]
        with uninterrupted():
            for name in hidden:
                self.restore(name)
            try:
                counts = self.counts
                for name, count in Counter(names).items():
                    learned = counts.get(name, 0)
                    if count > learned:
                        few = f"only {learned} were learned"
                        raise InputError(f"cannot unlearn {counted(count, 'sample')} of {name!r}: {few}")
                self.take_back(features, names)
            finally:
                for name in hidden:
                    if name in self.labels:
                        self.forget(name)

    @property
    def sharpness(self) -> float:
        """Inverse temperature of the softmax that turns scores into probabilities."""
        return TYPICAL_SHARPNESS

    def estimate(self) -> Estimate:
        """The accuracy to expect, overall and for each label, from samples that are left out one at a time."""
        return Estimate(None, 0, dict.fromkeys(self.labels, (0, 0)))

    def kept_scores(self) -> tuple[Float64, NDArray[np.int64]]:
        """Scores (n, c) of samples that the head keeps, each as if it had not been learned, and their classes (n,)."""
        return np.zeros((0, len(self.labels))), np.zeros(0, np.int64)

    def left_out(self, X: ArrayLike, learned: Sequence[Sequence[Label]]) -> LeftOut:
        """What is known of samples X (n, d) as if neither they nor their copies among them had been learned.

        ``learned`` has the labels with which each was learned, as often as it was; none for a new sample.
        """
        raise InputError(f"a {type(self).__name__} cannot leave single samples out")

    def familiarity(self) -> Familiarity | None:
        """What tells samples of known classes from others; None where that is not known."""
        return None

    def project(self, X: ArrayLike) -> Float64:
        """What the classifier sees of features X (n, d), shape (n, M)."""
        features = check_features(X, self.features, empty=True)
        return features if self.projection is None else self.projection(features)

    @one_blas_thread
    def scores(self, X: ArrayLike) -> Float64:
        """Scores (n, c) of features X (n, d), one column for each of ``labels``."""
        weights = self.weights
        parts = [block @ weights for block in self.blocks(check_features(X, self.features, empty=True))]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.labels)))

    def predict(self, X: ArrayLike) -> list[Label]:
        """The label with the highest score for each of the features X (n, d)."""
        labels = self.labels
        return [labels[number] for number in self.scores(X).argmax(axis=1)]

    def probabilities(self, X: ArrayLike) -> Float64:
        """The calibrated probability of each of ``labels`` (n, c) for features X (n, d)."""
        return probabilities(self.scores(X), self.sharpness)

    def blocks(self, features: Float64, size: int = BLOCK) -> Iterator[Float64]:
        """Projected features, a block of rows at a time: memory does not grow with the number of samples."""
        for start in range(0, len(features), size):
            block = features[start : start + size]
            yield block if self.projection is None else self.projection(block)

    def known_as(self, labels: object) -> list[Label]:
        """Checked labels, each in the form in which it is known here: ``7`` and ``"7"`` are one label."""
        return same_labels(check_labels(labels), [*self.labels, *self.forgotten])

    def times(self, X: ArrayLike, learned: Sequence[Sequence[Label]]) -> tuple[Float64, Float64]:
        """Features (n, d) of samples, and how often each was learned with each of ``labels`` (n, c)."""
        features, numbers = (
            check_features(X, self.features, empty=True),
            {label: n for n, label in enumerate(self.labels)},
        )
        times = np.zeros((len(features), len(numbers)))
        for row, names in zip(times, learned, strict=True):
            for name in names:
                row[numbers[name]] += 1
        return features, times

    def checked(self, X: ArrayLike, labels: object) -> tuple[Float64, list[Label]]:
        """Features (n, d) and labels of samples, or an error that says what is wrong with them."""
        features = check_features(X, self.features)
        names = self.known_as(labels)
        if len(names) != len(features):
            raise InputError(f"{len(features)} samples came with {len(names)} labels")
        return features, names


def renamed(
    columns: Mapping[Label, Value], label: Label, to: Label, join: Callable[[Value, Value], Value]
) -> dict[Label, Value]:
    """What is known of each label, one of which is called something else; two that are one now are joined."""
    result: dict[Label, Value] = {}
    for each, value in columns.items():
        name = to if each == label else each
        result[name] = join(result[name], value) if name in result else value
    return result


@dataclass(frozen=True, eq=False)
class Gathered:
    """Samples that are ready to be absorbed, all or none.

    Of many samples only the last are held as features (m, d); all others as a head that has absorbed them, so that
    memory does not grow with a task.
    """

    labels: list[Label]
    features: Float32 | None
    earlier: Head | None = None

    def absorb_into(self, head: Head) -> None:
        """Makes a head learn them."""
        if self.earlier is not None:
            head.merge(self.earlier, self.labels)
        if self.features is not None:
            head.absorb(self.features, self.labels[len(self.labels) - len(self.features) :])


def gather(head: Head, batches: Iterable[Float32], labels: list[Label]) -> Gathered:
    """Reads all features of a task, in batches (b, d), for a head that does not change meanwhile."""
    earlier: Head | None = None
    held: list[Float32] = []
    start = waiting = 0
    for features in batches:
        if waiting >= PART:
            earlier = earlier or head.blank()
            earlier.absorb(np.concatenate(held), labels[start : start + waiting])
            start, waiting, held = start + waiting, 0, []
        check_features(features, head.features)
        held.append(features)
        waiting += len(features)
    return Gathered(labels, np.concatenate(held) if held else None, earlier)


def check_features(X: ArrayLike, width: int, empty: bool = False) -> Float64:
    """X as float64 (n, width), or an error that says what is wrong with it."""
    try:
        features = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"features must be numbers in rows of equal length ({error})") from None
    if features.ndim != 2 or features.shape[1] != width:
        raise InputError(f"features must have the shape (n, {width}), not {features.shape}")
    if not len(features) and not empty:
        raise InputError("there is no sample to learn from")
    if not np.isfinite(features).all():
        raise InputError(f"sample {int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])} has a NaN or infinity")
    if len(features) and np.abs(features).max() > LARGEST_FEATURE:
        raise InputError(f"a feature is larger than {LARGEST_FEATURE:g}: its square could not be added up")
    return features
