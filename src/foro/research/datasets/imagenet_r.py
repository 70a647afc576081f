"""ImageNet-R: renditions of 200 ImageNet classes, one folder for each."""

from __future__ import annotations

from foro.images.class_folders import read_class_folders, split_by_name
from foro.research.datasets.archive import Archive
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.download import RemoteFile
from foro.research.datasets.registry import DataDir, register

ARCHIVE = Archive(
    RemoteFile(
        "https://people.eecs.berkeley.edu/~hendrycks/imagenet-r.tar", 2_191_079_936, "a61312130a589d0ca1a8fca1f2bd3337"
    ),
    folder="imagenet-r",
    sign="n[0-9]*",
)

SEED = 0


@register("imagenet_r", ARCHIVE)
def imagenet_r(data_dir: DataDir = None) -> Dataset:
    """ImageNet-R: 200 classes of art, cartoons and toys, about 120 train and 30 test images each (Hendrycks, 2021).

    Labels are WordNet ids. Its owners publish no split: of each class, the fifth of the images whose hashed names
    (``split_by_name``, seed 0) come first is for testing, always the same.
    """
    train, test = split_by_name(read_class_folders(ARCHIVE.find(data_dir), ARCHIVE.sign), SEED)
    split = f"80/20 split of each class by hashed file names, seed {SEED}"
    return Dataset("imagenet_r", "ImageNet-R", train, test, split, full=(120, 30), full_classes=200)
