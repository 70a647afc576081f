"""The real subsets load, with the counts their owner states."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from foro.images.load import load_image
from foro.research.datasets.registry import load_dataset
from foro.research.protocol.streams import class_incremental

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(
    ("name", "folder", "classes", "train", "test", "said"),
    [
        ("cifar100", "cifar-100-binary", 100, 100, 20, "100 of 500 train and 20 of 100 test"),
        ("cub200", "CUB_200_2011", 200, 8, 4, "8 of about 30 train and 4 of about 29 test"),
    ],
)
def test_real_subsets(
    shared_data: Path, name: str, folder: str, classes: int, train: int, test: int, said: str
) -> None:
    if not (shared_data / folder).is_dir():
        pytest.skip(f"no {folder} in {shared_data}")
    data = load_dataset(name, shared_data)
    assert data.fingerprint == load_dataset(name, shared_data / folder).fingerprint
    for samples, per_class in ((data.train, train), (data.test, test)):
        assert set(Counter(samples.labels).values()) == {per_class}
        assert min(load_image(samples.images[len(samples) // 2]).size) >= 32
    assert len(data.classes) == classes
    assert said in data.description
    stream = class_incremental(data, 10)
    assert {len(stream.train(task)) for task in stream} == {classes // 10 * train}
