"""What can change a learner: small values that its verbs make, that journals store, and that ``Learner.apply`` makes.

A change holds features and labels, never images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foro.adaptation.adaptation import Adaptation
from foro.heads.head import Gathered, Head
from foro.ledger import now
from foro.types import Float32, Label


@dataclass(frozen=True, eq=False)
class Learn:
    """Samples to learn, and how their features were adapted.

    ``held_out`` are samples on which the accuracy is measured once the others are learned; then they are learned too.
    """

    samples: Gathered
    adaptation: Adaptation
    held_out: Gathered | None = None
    when: str = field(default_factory=now)

    @property
    def labels(self) -> list[Label]:
        """The label of every sample."""
        return self.samples.labels + (self.held_out.labels if self.held_out else [])


@dataclass(frozen=True, eq=False)
class Unlearn:
    """Samples (n, d) whose influence is taken back."""

    features: Float32
    labels: list[Label]
    when: str = field(default_factory=now)
    images: Sequence[str] | None = None  # what they are called, to say which of them was never learned


@dataclass(frozen=True)
class Forget:
    """A label that is never predicted again."""

    label: Label
    when: str = field(default_factory=now)


@dataclass(frozen=True)
class Restore:
    """A forgotten label that is predicted again."""

    label: Label
    when: str = field(default_factory=now)


@dataclass(frozen=True)
class Rename:
    """A label that is called something else, or is one with another from now on."""

    label: Label
    to: Label
    when: str = field(default_factory=now)


@dataclass(frozen=True, eq=False)
class Merge:
    """Everything that another learner has learned."""

    head: Head
    adaptation: Adaptation
    when: str = field(default_factory=now)


Change = Learn | Unlearn | Forget | Restore | Rename | Merge
