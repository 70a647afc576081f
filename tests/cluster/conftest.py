"""One small Ray cluster for all tests of the session, with a logical GPU; and a tiny backbone in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foro.cluster.connection import start
from foro.heads.ridge.encoder import KnowledgeEncoder
from foro.heads.ridge.packed import unpack
from tests.backbones.reference import save_checkpoint, tiny_checkpoint

STORE = 120 * 2**20


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """The module ray, connected to a cluster of two processors."""
    module = start(num_cpus=2, num_gpus=1, object_store_memory=STORE)
    yield module
    module.shutdown()


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random ViT of 32 px."""
    return save_checkpoint(tiny_checkpoint(), tmp_path_factory.mktemp("backbone") / "tiny")


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
