"""CIFAR-100 in its official binary layout: a coarse label, a fine label and 3072 pixels a record."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from foro.errors import DataError
from foro.images.samples import Samples
from foro.research.datasets.archive import Archive
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.download import RemoteFile
from foro.research.datasets.registry import DataDir, register

RECORD = 2 + 3 * 32 * 32

ARCHIVE = Archive(
    RemoteFile(
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168_513_733, "03b5dce01913d631647c71ecec9e9cb8"
    ),
    folder="cifar-100-binary",
    sign="train.bin",
)


@register("cifar100", ARCHIVE)
def cifar100(data_dir: DataDir = None) -> Dataset:
    """CIFAR-100: 100 classes of 32 px photographs, 500 train and 100 test images each (Krizhevsky, 2009)."""
    folder = ARCHIVE.find(data_dir)
    train_images, train_labels = read_cifar100(folder, "train")
    test_images, test_labels = read_cifar100(folder, "test")
    return Dataset(
        "cifar100",
        "CIFAR-100",
        Samples(train_images, [*train_labels]),
        Samples(test_images, [*test_labels]),
        split="official split",
        full=(500, 100),
        full_classes=100,
    )


def read_cifar100(folder: str | Path, split: Literal["train", "test"]) -> tuple[NDArray[np.uint8], list[str]]:
    """Images (n, 32, 32, 3) and the names of their fine labels, from ``train.bin`` or ``test.bin``."""
    path = Path(folder) / f"{split}.bin"
    try:
        records = np.fromfile(path, dtype=np.uint8)
        names = (Path(folder) / "fine_label_names.txt").read_text(encoding="utf-8").split()
    except OSError as error:
        raise DataError(f"{error.filename or path} cannot be read: {error.strerror}") from None
    if not len(records) or len(records) % RECORD:
        raise DataError(f"{path} is truncated: {len(records)} bytes are not whole records of {RECORD}")
    records = records.reshape(-1, RECORD)
    if records[:, 1].max() >= len(names):
        raise DataError(f"{path} has a label that fine_label_names.txt does not name")
    images = records[:, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return images, [names[label] for label in records[:, 1]]
