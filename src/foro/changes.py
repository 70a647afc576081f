"""What can change a learner: small values that its verbs prepare, that journals store, and ``Learner.apply`` makes.

A change holds features and labels, never images.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from foro.adaptation.adaptation import Adaptation
from foro.errors import NeverLearnedError
from foro.heads.head import Gathered, Head
from foro.images.digests import Digests
from foro.known import Known
from foro.ledger import Ledger, now
from foro.types import Float32, Label


class Learning(Protocol):
    """A learner, as far as a change sees it."""

    head: Head
    adaptation: Adaptation
    known: Known
    ledger: Ledger

    def accuracy_on(self, samples: Gathered) -> float | None: ...


@dataclass(frozen=True)
class Made:
    """What a change did: how many samples of each label, whether it taught them, and the accuracy on held-out ones."""

    counts: dict[Label, int]
    taught: bool = False
    accuracy: float | None = None


@dataclass(frozen=True, eq=False)
class Corrected:
    """Samples (n, d) that were learned with other labels, and have these from now on.

    ``before`` are the labels that are taken back, each with the row of its sample.
    """

    features: Float32
    labels: list[Label]
    before: list[tuple[int, Label]]


@dataclass(frozen=True, eq=False)
class Learn:
    """Samples to learn, and how their features were adapted.

    ``held_out`` are samples on which the accuracy is measured once the others are learned; then they are learned too.
    ``digests`` (n, 16) are of all images in the order of ``labels``; None where images are not remembered.
    """

    samples: Gathered
    adaptation: Adaptation
    held_out: Gathered | None = None
    corrected: Corrected | None = None
    digests: Digests | None = None
    when: str = field(default_factory=now)

    @property
    def labels(self) -> list[Label]:
        """The label of every sample."""
        more = [each.labels for each in (self.held_out, self.corrected) if each is not None]
        return sum(more, self.samples.labels)

    def make(self, learner: Learning) -> Made:
        """Makes the change."""
        head, corrected, accuracy = learner.head, self.corrected, None
        if corrected is not None:
            rows, before = [row for row, _ in corrected.before], [label for _, label in corrected.before]
            head.unlearn(corrected.features[rows], before)
            if self.digests is not None:
                learner.known.remove(self.digests[-len(corrected.labels) :][rows], before)
        self.samples.absorb_into(head)
        learner.adaptation = self.adaptation
        if self.held_out is not None:
            accuracy = learner.accuracy_on(self.held_out)
            self.held_out.absorb_into(head)
        if corrected is not None:
            head.absorb(corrected.features, corrected.labels)
        if self.digests is not None:
            learner.known.add(self.digests, self.labels)
        return Made(dict(Counter(self.labels)), True, accuracy)


@dataclass(frozen=True, eq=False)
class Unlearn:
    """Samples (n, d) whose influence is taken back."""

    features: Float32
    labels: list[Label]
    digests: Digests | None = None  # (n, 16)
    when: str = field(default_factory=now)
    images: Sequence[str] | None = None  # what they are called, to say which of them was never learned

    def make(self, learner: Learning) -> Made:
        """Makes the change."""
        try:
            learner.head.unlearn(self.features, self.labels)
        except NeverLearnedError as error:
            raise NeverLearnedError(error.positions, self.images) from None
        if self.digests is not None:
            learner.known.remove(self.digests, self.labels)
        return Made(dict(Counter(self.labels)))


@dataclass(frozen=True)
class Forget:
    """A label that is never predicted again."""

    label: Label
    when: str = field(default_factory=now)

    def make(self, learner: Learning) -> Made:
        """Makes the change."""
        count = learner.head.counts.get(self.label, 0)
        learner.head.forget(self.label)
        learner.known.forget(self.label)
        return Made({self.label: count})


@dataclass(frozen=True)
class Restore:
    """A forgotten label that is predicted again."""

    label: Label
    when: str = field(default_factory=now)

    def make(self, learner: Learning) -> Made:
        """Makes the change."""
        before = learner.head.counts.get(self.label, 0)
        learner.head.restore(self.label)
        learner.known.restore(self.label)
        return Made({self.label: learner.head.counts[self.label] - before})


@dataclass(frozen=True)
class Rename:
    """A label that is called something else, or is one with another from now on."""

    label: Label
    to: Label
    when: str = field(default_factory=now)

    def make(self, learner: Learning) -> Made:
        """Makes the change."""
        count = learner.head.counts.get(self.label, 0)
        learner.head.rename(self.label, self.to)
        learner.known.rename(self.label, self.to)
        learner.ledger.rename(self.label, self.to)
        return Made({self.to: count})


@dataclass(frozen=True, eq=False)
class Merge:
    """Everything that another learner has learned."""

    head: Head
    adaptation: Adaptation
    known: Known
    whole: bool = False  # the other has everything that was learned here, too: what is here gives way to it
    when: str = field(default_factory=now)

    def make(self, learner: Learning) -> Made:
        """Makes the change."""
        if self.whole:
            learner.head, learner.known = learner.head.blank(), Known()
        head, theirs = learner.head, self.known.labels
        counts = dict(zip(head.known_as(self.head.labels), self.head.counts.values(), strict=True))
        names = dict(zip(theirs, head.known_as(theirs), strict=True))
        head.merge(self.head)
        learner.known.merge(self.known, names)
        tasks = self.adaptation.tasks + (0 if self.whole else learner.adaptation.tasks)
        settled = learner.adaptation if learner.adaptation.settled else self.adaptation
        learner.adaptation = replace(settled, tasks=tasks)
        return Made(counts, True)


Change = Learn | Unlearn | Forget | Restore | Rename | Merge
