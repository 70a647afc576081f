"""When two encoders hold the same."""

from __future__ import annotations

import numpy as np
import pytest

from foro.heads.ridge.encoder import KnowledgeEncoder
from foro.heads.ridge.packed import unpack


def gram(encoder: KnowledgeEncoder) -> np.ndarray:
    """G of an encoder, wherever it keeps it."""
    statistics = encoder._statistics
    packed = 0.0 if statistics.gram is None else unpack(statistics.gram, statistics.size)
    return packed + statistics.tail.T @ statistics.tail


def assert_same(one: KnowledgeEncoder, other: KnowledgeEncoder) -> None:
    """The same labels in the same order, counts, G and C (to 1e-10 of their largest entry), γ and sharpness."""
    assert one.labels == other.labels
    assert one.counts == other.counts
    assert one.samples == other.samples
    for mine, theirs in ((gram(one), gram(other)), (one._statistics.cross, other._statistics.cross)):
        assert np.abs(mine - theirs).max() <= 1e-10 * np.abs(theirs).max()
    assert one.regularisation_used == other.regularisation_used
    assert one.sharpness == pytest.approx(other.sharpness, rel=1e-6)
