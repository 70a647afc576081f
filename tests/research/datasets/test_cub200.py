from __future__ import annotations

from pathlib import Path

import pytest

from foro.errors import DataError
from foro.research.datasets.cub200 import cub200
from tests.research.datasets.layouts import write_cub200


def test_the_official_split_and_names(tmp_path: Path) -> None:
    data = cub200(write_cub200(tmp_path))
    assert data.classes == ["001.Albatross", "002.Auklet", "003.Wren"]
    assert data.train.labels == [label for label in data.classes for _ in range(3)]
    assert [Path(str(image)).name for image in data.test.images] == ["Albatross_2.jpg", "Auklet_2.jpg", "Wren_2.jpg"]
    assert data.description == (
        "CUB-200-2011: 3 of 200 classes, 3 of about 30 train and 1 of about 29 test images a class; official split"
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("classes.txt", None, r"classes\.txt cannot be read"),
        ("classes.txt", "1 001.Albatross\n", "image 5 has no known class or split"),
        ("classes.txt", "1\n", "lines must be an id and a value"),
        ("images.txt", b"1 \xff\xfe.jpg\n", "lines must be an id and a value"),
        ("train_test_split.txt", "1 1\n", "do not list the same images"),
        ("train_test_split.txt", "\n".join(f"{i} 2" for i in range(1, 13)), "image 1 has no known class or split"),
        ("train_test_split.txt", "\n".join(f"{i} 1" for i in range(1, 13)), "has no test images"),
        ("images/002.Auklet/Auklet_1.jpg", None, r"images/002\.Auklet/Auklet_1\.jpg is missing"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, content: str | bytes | None, said: str) -> None:
    folder = write_cub200(tmp_path)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=said):
        cub200(folder)
