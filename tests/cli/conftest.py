"""A small model of real images, and folders to ask it for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from foro import Learner, read_class_folders

SIDE = 48
"""Pixels that nano sees of a digit, which has 8 × 8: a pass takes a quarter of the time that it takes at 96."""


def write_digits(folder: Path, first: int, last: int) -> Path:
    """Handwritten digits as PNG files, in a folder for each."""
    data = load_digits()
    for number in range(first, last):
        place = folder / str(data.target[number])
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.uint8(data.images[number] * (255 / 16))).save(place / f"{number}.png")
    return folder


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders ``train`` (120 images) and ``test`` (40)."""
    root = tmp_path_factory.mktemp("digits")
    write_digits(root / "train", 0, 120)
    write_digits(root / "test", 120, 160)
    return root


@pytest.fixture(scope="session")
def model(digits: Path) -> Path:
    """A model file that has learned ``train``."""
    train = read_class_folders(digits / "train")
    learner = Learner("nano", policy="none", projection_dim=256, image_size=SIDE)
    learner.learn(train.images, train.labels)
    learner.save(digits / "digits.foro")
    return digits / "digits.foro"
