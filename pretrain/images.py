"""The training images: tars of WebP files decoded once into one uint8 array on disk."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from contextlib import ExitStack
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


def load_images(tars: Sequence[Path], work: Path) -> Images:
    """Open the decoded images of all `tars` in the folder `work`, decoding them first where needed."""
    pixels_file, labels_file = work / "pixels.npy", work / "labels.npy"
    if not labels_file.exists():
        _decode(tars, pixels_file, labels_file)
    return Images(np.load(pixels_file, mmap_mode="r"), np.load(labels_file))


def _decode(tars: Sequence[Path], pixels_file: Path, labels_file: Path) -> None:
    """Decode `<class>/<name>` members tar by tar, each in the order of the names of its members."""
    with ExitStack() as stack:
        archives = [stack.enter_context(tarfile.open(tar)) for tar in tars]
        found = [
            (archive, member)
            for archive in archives
            for member in sorted((m for m in archive if m.isfile()), key=lambda m: m.name)
        ]
        names = [member.name.split("/")[0] for _, member in found]
        numbers = {name: i for i, name in enumerate(sorted(set(names)))}
        pixels = np.lib.format.open_memmap(pixels_file, mode="w+", dtype=np.uint8, shape=(len(found), 3, SIDE, SIDE))
        for i, (archive, member) in enumerate(found):
            stream = archive.extractfile(member)
            if stream is None:
                raise ValueError(f"{archive.name}: cannot read {member.name}")
            image = Image.open(io.BytesIO(stream.read())).convert("RGB")
            pixels[i] = np.asarray(image).transpose(2, 0, 1)
        pixels.flush()
    np.save(labels_file, np.array([numbers[name] for name in names], dtype=np.int64))
