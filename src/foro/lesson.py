"""One ``learn`` in two steps: first everything that may fail, then what changes the learner."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from foro.adaptation.adaptation import Adaptation
from foro.ledger import Event
from foro.types import Float32, Label
from foro.util.interrupts import uninterrupted

if TYPE_CHECKING:
    from foro.learner import Learner


Keep = Callable[[Float32, list[Label], bool], None]
"""Is given features (b, d) as they are made, their labels, and whether they were held out."""

FEWEST_HELD_OUT = 10
"""Fewer images would say nothing about the accuracy."""

MOST_HELD_OUT = 1000
"""More would cost memory and say little more."""


@dataclass(frozen=True)
class LearnReport:
    """What one ``learn`` did; accuracies are None where nothing was held out, or none of its labels was known."""

    samples: int
    new_labels: tuple[Label, ...]
    generations: int
    forward_passes: int  # sequences that went through the backbone, every candidate's
    seconds: float
    note: str | None = None
    held_out: int = 0  # images that were first asked for and then learned too
    accuracy_before: float | None = None
    accuracy_after: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; ``from_dict`` makes a report of it again."""
        return {**asdict(self), "new_labels": list(self.new_labels)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LearnReport:
        return cls(**{**content, "new_labels": tuple(content["new_labels"])})


@dataclass(frozen=True)
class HeldOut:
    """Samples that the classifier is tested on before it learns them too."""

    features: Float32
    names: list[Label]
    before: float | None


@dataclass
class Lesson:
    """A task that is ready to be learned: its features are made, and ``absorb`` is all that is left to do."""

    learner: Learner
    names: list[Label]  # of all samples
    commit: Callable[[], None]  # absorbs those that were not held out
    held_out: HeldOut | None
    adaptation: Adaptation
    generations: int
    forward_passes: int
    note: str | None
    start: float = field(default_factory=time.perf_counter)

    def report(self) -> LearnReport:
        """What learning the task amounts to, known before it is learned."""
        known = set(self.learner.labels)
        return LearnReport(
            samples=len(self.names),
            new_labels=tuple(label for label in dict.fromkeys(self.names) if label not in known),
            generations=self.generations,
            forward_passes=self.forward_passes,
            seconds=time.perf_counter() - self.start,
            note=self.note,
            held_out=len(self.held_out.names) if self.held_out else 0,
            accuracy_before=self.held_out.before if self.held_out else None,
        )

    def absorb(self, when: str | None = None) -> LearnReport:
        """Learns the task, now or as of a time that was written down."""
        learner, report, after = self.learner, self.report(), None
        with uninterrupted():
            self.commit()
            learner._adaptation = self.adaptation
            if self.held_out is not None:
                after = accuracy(learner, self.held_out.features, self.held_out.names)
                learner.encoder.absorb(self.held_out.features, self.held_out.names)
            counts = Counter(self.names)
            learner.ledger.add(Event.of("learn", counts, when), counts)
        return replace(report, accuracy_after=after, seconds=time.perf_counter() - self.start)


def accuracy(learner: Learner, features: Float32, names: list[Label]) -> float | None:
    """Share of samples that are told right; None where the learner knows none of their labels."""
    if not set(learner.labels).intersection(names):
        return None
    return float(np.mean([one == other for one, other in zip(learner.encoder.predict(features), names, strict=True)]))


def choose_held_out(labels: list[Label], share: float, generator: np.random.Generator) -> list[int]:
    """Positions of a share of each label's samples, in ascending order; none where too few would come together.

    The same share of every label, rounded so that the whole comes out right; one sample of each label is always left.
    """
    by_label: dict[Label, list[int]] = {}
    for position in generator.permutation(len(labels)):
        by_label.setdefault(labels[position], []).append(int(position))
    share = min(share, MOST_HELD_OUT / len(labels))
    chosen: list[int] = []
    owed = 0.0
    for positions in by_label.values():
        owed += share * len(positions)
        taken = min(int(owed + 0.5), len(positions) - 1)
        chosen += positions[:taken]
        owed -= taken
    return sorted(chosen) if len(chosen) >= FEWEST_HELD_OUT else []
