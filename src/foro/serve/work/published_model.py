"""The model as requests see it: one consistent state of the learner, which never changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.durable import DurableLearner
from foro.heads.head import Estimate
from foro.ledger import Event
from foro.snapshot import Snapshot
from foro.types import Float64, Label

MOST_UNDOABLE = 20
"""Changes that are listed of those that can be taken back."""


@dataclass(frozen=True)
class PublishedModel:
    """A snapshot of a learner and what is known of it; without a label there is no snapshot."""

    version: int
    snapshot: Snapshot | None
    counts: dict[Label, int]
    samples: int
    estimate: Estimate
    kept: tuple[Float64, NDArray[np.int64]]  # of samples that were left out: scores (n, c) and classes (n,)
    taught: dict[Label, str]  # when each label was last learned
    forgotten: tuple[Label, ...]  # labels that can be restored
    measured: tuple[tuple[str, float, int], ...]  # when, accuracy to be expected, samples
    undoable: tuple[Event, ...]  # changes that can be taken back, the last first

    @classmethod
    def of(cls, durable: DurableLearner) -> PublishedModel:
        """Solves for the classifier, if it has changed: this may take a while."""
        learner = durable.learner
        encoder, known = learner.head, bool(learner.labels)
        return cls(
            version=learner.ledger.sequence,
            snapshot=learner.snapshot() if known else None,
            counts=encoder.counts,
            samples=encoder.samples,
            estimate=encoder.estimate() if known else Estimate(None, 0, {}),
            kept=encoder.kept_scores() if known else (np.zeros((0, 0)), np.zeros(0, np.int64)),
            taught=dict(learner.ledger.taught),
            forgotten=tuple(encoder.forgotten),
            measured=tuple(learner.ledger.measured),
            undoable=tuple(learner.ledger.events[::-1][: min(durable.undo_left, MOST_UNDOABLE)]),
        )

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.snapshot.labels if self.snapshot else ()
