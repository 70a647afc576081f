"""Small data sets in their official layouts, and archives of them."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

from foro.research.datasets.cifar100 import RECORD


def write_image(path: Path, shade: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (shade % 256,) * 3).save(path)


def write_cifar100(parent: Path) -> Path:
    """Three classes; three train images and one test image of each."""
    folder = parent / "cifar-100-binary"
    folder.mkdir(parents=True)
    (folder / "fine_label_names.txt").write_text("apple\nbear\ncamel\n")
    for split, per_class in (("train", 3), ("test", 1)):
        records = np.random.default_rng(0).integers(0, 256, (3 * per_class, RECORD)).astype(np.uint8)
        records[:, 1] = np.arange(3 * per_class) % 3
        records.tofile(folder / f"{split}.bin")
    return folder


def write_cub200(parent: Path) -> Path:
    """Three classes; three train images and one test image of each."""
    folder = parent / "CUB_200_2011"
    lines: dict[str, list[str]] = {"images": [], "image_class_labels": [], "train_test_split": [], "classes": []}
    for kind, name in enumerate(("001.Albatross", "002.Auklet", "003.Wren"), start=1):
        lines["classes"].append(f"{kind} {name}")
        for image in range(4):
            number = len(lines["images"]) + 1
            lines["images"].append(f"{number} {name}/{name[4:]}_{image}.jpg")
            lines["image_class_labels"].append(f"{number} {kind}")
            lines["train_test_split"].append(f"{number} {int(image != 2)}")
            write_image(folder / "images" / name / f"{name[4:]}_{image}.jpg", number)
    for name, content in lines.items():
        (folder / f"{name}.txt").write_text("\n".join(content) + "\n")
    return folder


def write_imagenet_r(parent: Path) -> Path:
    """Three classes; four images of each, of which three are for training."""
    folder = parent / "imagenet-r"
    write_class_folders(folder, ("n01443537", "n01484850", "n01494475"), 4)
    (folder / "README.txt").write_text("n01443537 goldfish\n")
    return folder


def write_class_folders(folder: Path, names: tuple[str, ...], per_class: int) -> None:
    for name in names:
        for image in range(per_class):
            write_image(folder / name / f"{image:02}.jpg", image)


LAYOUTS = {"cifar100": write_cifar100, "cub200": write_cub200, "imagenet_r": write_imagenet_r}
"""Writers by the name of the data set; each gives 9 train and 3 test images of 3 classes."""


def tar_of(folder: Path, mode: str = "w:gz") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as tar:  # type: ignore[call-overload]
        tar.add(folder, folder.name)
    return content.getvalue()
