from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foro.errors import DataError
from foro.research.datasets.cifar100 import RECORD, read_cifar100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = np.zeros((3, RECORD), np.uint8)
    records[:, 1] = [1, 0, 1]
    records[2, 2] = 200  # red of the first pixel
    records[2, 2 + 1024 + 33] = 100  # green of row 1, column 1
    records.tofile(tmp_path / "train.bin")
    (tmp_path / "fine_label_names.txt").write_text("apple\npear\n")
    return tmp_path


def test_records_are_images_with_names(folder: Path) -> None:
    images, labels = read_cifar100(folder, "train")
    assert images.shape == (3, 32, 32, 3)
    assert labels == ["pear", "apple", "pear"]
    assert images[2, 0, 0].tolist() == [200, 0, 0]
    assert images[2, 1, 1].tolist() == [0, 100, 0]


def test_damage_is_named(folder: Path) -> None:
    with pytest.raises(DataError, match=r"test\.bin cannot be read"):
        read_cifar100(folder, "test")
    (folder / "fine_label_names.txt").write_text("apple\n")
    with pytest.raises(DataError, match="does not name"):
        read_cifar100(folder, "train")
    (folder / "train.bin").write_bytes(b"123")
    with pytest.raises(DataError, match="is truncated"):
        read_cifar100(folder, "train")
