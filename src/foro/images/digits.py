"""Handwritten digits, from scikit-learn: real and small."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foro.errors import DataError


def read_digits(seed: int = 0) -> tuple[tuple[NDArray[np.uint8], list[int]], tuple[NDArray[np.uint8], list[int]]]:
    """Train and test images (n, 8, 8) with their labels: three quarters and a quarter of every digit."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
    except ModuleNotFoundError as error:
        raise DataError(f'the handwritten digits come with {error.name}: pip install "foro[sklearn]"') from None

    data = load_digits()
    images = np.uint8(np.rint(data.images * (255 / 16)))
    train, test = train_test_split(np.arange(len(images)), test_size=0.25, stratify=data.target, random_state=seed)
    labels = data.target.tolist()
    return (images[train], [labels[i] for i in train]), (images[test], [labels[i] for i in test])
