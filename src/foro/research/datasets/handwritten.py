"""Handwritten digits as a data set."""

from __future__ import annotations

from foro.errors import DataError
from foro.images.digits import read_digits
from foro.images.samples import Samples
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.registry import DataDir, register

SEED = 0


@register("digits")
def digits(data_dir: DataDir = None) -> Dataset:
    """Handwritten digits of 8 px from scikit-learn: 10 classes, about 135 train and 45 test images each."""
    if data_dir is not None:
        raise DataError("digits come with scikit-learn and are not read from a data folder")
    (train_images, train_labels), (test_images, test_labels) = read_digits(SEED)
    return Dataset(
        "digits",
        "handwritten digits",
        Samples(train_images, [*train_labels]),
        Samples(test_images, [*test_labels]),
        split=f"75/25 split of each class, seed {SEED}",
    )
