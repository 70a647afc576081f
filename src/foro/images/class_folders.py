"""One folder of images for each class, and a division of such a folder into train and test that never changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from foro.errors import DataError, counted
from foro.images.paths import Found, is_hidden, search_folder
from foro.images.samples import Samples

TEST_SHARE = 0.2

PARTS = frozenset({"train", "training", "val", "valid", "validation", "test", "testing"})
"""Names of folders that hold a part of a data set, and hardly a class."""


def read_class_folders(folder: str | os.PathLike[str], pattern: str = "*") -> Samples:
    """Every image under each class folder that matches the pattern, labelled with the folder's name, in sorted order.

    Hidden files and folders do not count. ``passed_over`` names files that are no images, and ``notes`` says what looks
    like a mistake.
    """
    if not Path(folder).is_dir():
        raise DataError(f"there is no folder {folder}")
    here = sorted(each for each in Path(folder).glob(pattern) if not is_hidden(each.name))
    classes, beside = [each for each in here if each.is_dir()], Found()
    if not classes:
        raise DataError(f"{folder} has no folders of images, one for each class")
    images: list[Path] = []
    labels: list[str | int] = []
    for each in here:
        if not each.is_dir():
            beside.add(each)
            continue
        found = Found(passed_over=beside.passed_over)
        search_folder(each, found)
        if not found.images:
            raise DataError(f"{each} has no images: put some into it, or remove it")
        images += found.images
        labels += [each.name] * len(found.images)
    notes = _doubts(Path(folder), classes, images, beside.images)
    return Samples(images, labels, tuple(beside.passed_over + beside.images), tuple(notes))


def _doubts(folder: Path, classes: list[Path], images: list[Path], beside: list[Path]) -> list[str]:
    """What looks as if another folder had been meant, or another label."""
    notes = []
    if parts := [each.name for each in classes if each.name.lower() in PARTS]:
        meant = Path(folder, next((name for name in parts if "train" in name.lower()), parts[0]))
        taken = "is taken for a class" if len(parts) == 1 else "are taken for classes"
        notes.append(f"{' and '.join(parts)} {taken}: if that is how a data set is divided, give {meant}")
    inner: dict[str, set[str]] = {}  # of a class without images of its own, the folders that have them
    for image in images:
        name, *within = image.relative_to(folder).parts[:-1]
        inner.setdefault(name, set()).add(within[0] if within else "")
    for name, folders in inner.items():
        if len(folders) > 1 and "" not in folders:
            first = ", ".join(sorted(folders)[:3]) + (", …" if len(folders) > 3 else "")
            notes.append(
                f"{counted(len(folders), 'folder')} within {name} ({first}) are all taken for {name}: "
                f"if they are classes, give {Path(folder, name)}"
            )
    if beside:
        them = counted(len(beside), "image lies", "images lie")
        notes.append(f"{them} beside the class folders and belong{'s' if len(beside) == 1 else ''} to no class")
    return notes


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
