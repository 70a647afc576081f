"""Any image folder as a data set."""

from __future__ import annotations

from pathlib import Path

from foro.errors import DataError
from foro.images.class_folders import read_class_folders, split_by_name
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.registry import DataDir, register

SEED = 0


@register("folder")
def folder(data_dir: DataDir = None) -> Dataset:
    """Any folder of images: train/ and test/ with a folder for each class, or folders of classes, split 80 to 20."""
    if data_dir is None:
        raise DataError("an image folder must be named: give its path as the data folder")
    root = Path(data_dir)
    parts = [root / part for part in ("train", "test") if (root / part).is_dir()]
    if len(parts) == 1:
        raise DataError(f"{root} has {parts[0].name} but not both of train and test")
    title = root.resolve().name
    if parts:
        train, test = (read_class_folders(part) for part in parts)
        return Dataset("folder", title, train, test, split="split as in its folders")
    train, test = split_by_name(read_class_folders(root), SEED)
    return Dataset("folder", title, train, test, split=f"80/20 split of each class by hashed file names, seed {SEED}")
