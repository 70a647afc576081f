"""The training images: a tar of WebP files decoded once into one uint8 array on disk."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 64
"""Side, in pixels, of every training image."""


@dataclass(frozen=True)
class Images:
    """All images (N, 3, 64, 64) as uint8, with a class number for each."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def load_images(tar: Path, work: Path) -> Images:
    """Open the decoded images of `tar` in the folder `work`, decoding them first where needed."""
    pixels_file, labels_file = work / "pixels.npy", work / "labels.npy"
    if not labels_file.exists():
        _decode(tar, pixels_file, labels_file)
    return Images(np.load(pixels_file, mmap_mode="r"), np.load(labels_file))


def _decode(tar: Path, pixels_file: Path, labels_file: Path) -> None:
    """Decode `<class>/<name>` members in the order of their names, whatever the order of the tar."""
    with tarfile.open(tar) as archive:
        members = sorted((m for m in archive if m.isfile()), key=lambda m: m.name)
        names = [m.name.split("/")[0] for m in members]
        numbers = {name: i for i, name in enumerate(sorted(set(names)))}
        pixels = np.lib.format.open_memmap(pixels_file, mode="w+", dtype=np.uint8, shape=(len(members), 3, SIDE, SIDE))
        for i, member in enumerate(members):
            stream = archive.extractfile(member)
            if stream is None:
                raise ValueError(f"{tar}: cannot read {member.name}")
            image = Image.open(io.BytesIO(stream.read())).convert("RGB")
            pixels[i] = np.asarray(image).transpose(2, 0, 1)
        pixels.flush()
    np.save(labels_file, np.array([numbers[name] for name in names], dtype=np.int64))
