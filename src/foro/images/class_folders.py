"""One folder of images for each class, and a division of such a folder into train and test that never changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from foro.errors import DataError
from foro.images.samples import Samples

EXTENSIONS = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})

TEST_SHARE = 0.2


def read_class_folders(folder: str | os.PathLike[str], pattern: str = "*") -> Samples:
    """Every image under each class folder that matches the pattern, labelled with the folder's name, in sorted order.

    Hidden files and folders, and files that do not end like an image, are passed over.
    """
    if not Path(folder).is_dir():
        raise DataError(f"there is no folder {folder}")
    classes = sorted(each for each in Path(folder).glob(pattern) if each.is_dir() and not _hidden(each.name))
    if not classes:
        raise DataError(f"{folder} has no folders of images, one for each class")
    images: list[Path] = []
    labels: list[str | int] = []
    for each in classes:
        found = images_under(each)
        if not found:
            raise DataError(f"{each} has no images")
        images += found
        labels += [each.name] * len(found)
    return Samples(images, labels)


def split_by_name(samples: Samples, seed: int) -> tuple[Samples, Samples]:
    """Train and test samples: of each class, the fifth of the files whose hashed names come first is for testing.

    The hash is the SHA-256 of seed, class and file name. So the split is the same with every version of every library
    and in every folder, and stays nearly the same when images are added.
    """
    test: set[int] = set()
    for label, positions in samples.positions.items():
        if len(positions) < 2:
            raise DataError(f"the class {label} has a single image, which cannot be both for training and for testing")

        def order(position: int, label: str | int = label) -> str:
            name = Path(str(samples.images[position])).name
            return hashlib.sha256(f"{seed}/{label}/{name}".encode()).hexdigest()

        test.update(sorted(positions, key=order)[: max(1, round(TEST_SHARE * len(positions)))])
    return samples.take(i for i in range(len(samples)) if i not in test), samples.take(sorted(test))


def images_under(folder: Path) -> list[Path]:
    """Every image in a folder and the folders within, in sorted order."""
    found = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        found += [
            Path(parent, name)
            for name in sorted(files)
            if not _hidden(name) and os.path.splitext(name)[1].lower() in EXTENSIONS
        ]
    return found


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"
