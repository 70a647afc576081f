"""CUB-200-2011 in its official layout: an image folder, and text files of ``id value`` lines."""

from __future__ import annotations

from pathlib import Path

from foro.errors import DataError
from foro.images.samples import Samples
from foro.research.datasets.archive import Archive
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.download import RemoteFile
from foro.research.datasets.registry import DataDir, register

ARCHIVE = Archive(
    RemoteFile(
        "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
        1_150_585_339,
        "97eceeb196236b17998738112f37df78",
    ),
    folder="CUB_200_2011",
    sign="images.txt",
)


@register("cub200", ARCHIVE)
def cub200(data_dir: DataDir = None) -> Dataset:
    """CUB-200-2011: 200 species of birds, about 30 train and 29 test images each (Wah et al., 2011)."""
    folder = ARCHIVE.find(data_dir)
    files, kinds, parts, names = (
        _read(folder / f"{name}.txt") for name in ("images", "image_class_labels", "train_test_split", "classes")
    )
    if not files.keys() == kinds.keys() == parts.keys():
        raise DataError(f"{folder} is damaged: its text files do not list the same images")
    chosen: dict[str, list[str]] = {"1": [], "0": []}  # the file's is_training_image
    for number in files:
        if kinds[number] not in names or parts[number] not in chosen:
            raise DataError(f"{folder} is damaged: image {number} has no known class or split")
        chosen[parts[number]].append(number)
        if not (folder / "images" / files[number]).is_file():
            raise DataError(f"{folder} is damaged: images/{files[number]} is missing")
    train, test = (
        Samples([folder / "images" / files[i] for i in numbers], [names[kinds[i]] for i in numbers])
        for numbers in chosen.values()
    )
    return Dataset(
        "cub200", "CUB-200-2011", train, test, split="official split", full=(5994 / 200, 5794 / 200), full_classes=200
    )


def _read(path: Path) -> dict[str, str]:
    """Values by id, in the file's order."""
    try:
        values = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            number, value = line.split(maxsplit=1)
            values[number] = value
        return values
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:  # also what decoding raises
        raise DataError(f"{path} is damaged: its lines must be an id and a value") from None
