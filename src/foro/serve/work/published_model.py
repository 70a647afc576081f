"""What requests are answered from: one consistent state of the learner, which never changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foro.heads.calibration import probabilities
from foro.heads.head import Estimate
from foro.learner import Learner
from foro.snapshot import Snapshot
from foro.types import Float32, Float64, Label

ROWS = 8
"""Rows of every matrix product: always as many, so that no digit of an answer depends on what else was asked."""


@dataclass(frozen=True)
class Published:
    """The classifier of a learner at one moment, and what it knows of itself; without a label there is no snapshot."""

    version: int
    snapshot: Snapshot | None
    counts: dict[Label, int]
    samples: int
    estimate: Estimate
    taught: dict[Label, str]  # when each label was last learned
    removed: tuple[Label, ...]  # labels that can be restored
    measured: tuple[tuple[str, float, int], ...]  # when, accuracy to be expected, samples

    @classmethod
    def of(cls, learner: Learner) -> Published:
        """Solves for the classifier, if it has changed: this may take a while."""
        encoder, known = learner.encoder, bool(learner.labels)
        return cls(
            version=learner.ledger.sequence,
            snapshot=learner.snapshot() if known else None,
            counts=encoder.counts,
            samples=encoder.samples,
            estimate=encoder.estimate() if known else Estimate(None, 0, {}),
            taught=dict(learner.ledger.taught),
            removed=tuple(encoder.forgotten),
            measured=tuple(learner.ledger.measured),
        )

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.snapshot.labels if self.snapshot else ()

    @property
    def prompt(self) -> Float32 | None:
        return self.snapshot.prompt if self.snapshot else None


def likely_labels(snapshot: Snapshot, features: Float32) -> Float64:
    """How likely each label is (n, c), for features (n, d)."""
    likely = np.empty((len(features), len(snapshot.labels)))
    rows = np.zeros((ROWS, features.shape[1]), np.float32)
    for start in range(0, len(features), ROWS):
        part = features[start : start + ROWS]
        rows[: len(part)] = part
        scores = snapshot.score_features(rows)
        likely[start : start + ROWS] = probabilities(scores, snapshot.sharpness)[: len(part)]
    return likely
