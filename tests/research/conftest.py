"""A tiny backbone on a few digits, and settings with which a run takes a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from foro.research.protocol.experiment_setup import DataOptions, Setup

SMALL = {"projection_dim": 64, "generations": 2, "population": 4, "search_images": 16, "online_batch": 8}


@pytest.fixture(scope="session")
def setup(tiny_folder: Path) -> Setup:
    return Setup(str(tiny_folder), data=DataOptions(train_per_class=8, test_per_class=4))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORO_CACHE", str(tmp_path / "cache"))
