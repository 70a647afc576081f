"""Labelled images: what a data set, a task and a folder have in common."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from foro.errors import DataError, InputError
from foro.images.load import Images, ImageSource

if TYPE_CHECKING:
    from foro.types import Label

FEWEST_HELD_OUT = 10
"""Fewer images would say nothing about the accuracy."""

MOST_HELD_OUT = 1000
"""More would cost memory and say little more."""

_HASHED_AT_ONCE = 1024
"""Images of an array that are copied together to be hashed: the array may be a view that is not contiguous."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Images with one label each: paths, which are decoded only when they are used, or an array (n, H, W[, 3])."""

    images: Images
    labels: list[Label]
    passed_over: tuple[Path, ...] = ()  # files among them that are no images
    notes: tuple[str, ...] = ()  # sentences on what looks like a mistake

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise InputError(f"{len(self.images)} images came with {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def positions(self) -> dict[Label, list[int]]:
        """Positions of each class's images, in order; classes in the order in which they first appear."""
        positions: dict[Label, list[int]] = {}
        for position, label in enumerate(self.labels):
            positions.setdefault(label, []).append(position)
        return positions

    def take(self, positions: Iterable[int]) -> Samples:
        """The samples at some positions, in that order."""
        chosen = [int(position) for position in positions]
        images = self.images[chosen] if isinstance(self.images, np.ndarray) else [self.images[i] for i in chosen]
        return Samples(images, [self.labels[i] for i in chosen], self.passed_over, self.notes)

    def first(self, per_class: int) -> Samples:
        """The first so many images of every class, in their present order."""
        return self.take(sorted(i for positions in self.positions.values() for i in positions[:per_class]))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the order, the labels and the images: an array's bytes, a file's size and its last two names.

        Files are not read, so that tens of thousands take a second; nor does it matter where their folder is.
        """
        digest = hashlib.sha256(repr(self.labels).encode())
        if isinstance(self.images, np.ndarray):
            digest.update(repr((self.images.shape, self.images.dtype.str)).encode())
            for start in range(0, len(self.images), _HASHED_AT_ONCE):
                digest.update(np.ascontiguousarray(self.images[start : start + _HASHED_AT_ONCE]).tobytes())
        else:
            for image in self.images:
                digest.update(_identity(image))
        return digest.hexdigest()


def stratified(labels: Sequence[Label], size: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Positions of at most ``size`` samples, spread over the labels as evenly as they allow, in ascending order."""
    # The first of every label, then the second of every label, and so on.
    rounds = sorted(
        (rank, position) for group in _shuffled(labels, generator).values() for rank, position in enumerate(group)
    )
    return np.sort([position for _, position in rounds[:size]]).astype(np.intp)


def choose_held_out(labels: Sequence[Label], share: float, generator: np.random.Generator) -> list[int]:
    """Positions of a share of each label's samples, in ascending order; none where fewer than ten would come together.

    The same share of every label, rounded so that the whole comes out right; one sample of each label is always left.
    """
    share = min(share, MOST_HELD_OUT / len(labels))
    chosen: list[int] = []
    owed = 0.0
    for positions in _shuffled(labels, generator).values():
        owed += share * len(positions)
        taken = min(int(owed + 0.5), len(positions) - 1)
        chosen += positions[:taken]
        owed -= taken
    return sorted(chosen) if len(chosen) >= FEWEST_HELD_OUT else []


def _shuffled(labels: Sequence[Label], generator: np.random.Generator) -> dict[Label, list[int]]:
    """Positions of the samples of each label, in random order."""
    by_label: dict[Label, list[int]] = {}
    for position in generator.permutation(len(labels)):
        by_label.setdefault(labels[position], []).append(int(position))
    return by_label


def _identity(image: ImageSource) -> bytes:
    if isinstance(image, np.ndarray):
        return repr((image.shape, image.dtype.str)).encode() + np.ascontiguousarray(image).tobytes()
    if isinstance(image, Image.Image):
        return repr((image.size, image.mode)).encode() + image.tobytes()
    path = Path(image)
    try:
        return repr((path.parts[-2:], os.stat(path).st_size)).encode()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
