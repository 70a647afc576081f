from __future__ import annotations

import re
from pathlib import Path

import pytest

from foro.errors import DataError
from foro.research.datasets.registry import list_datasets, load_dataset, register
from tests.research.datasets.layouts import write_class_folders


def test_every_data_set_says_what_it_is_and_where_it_comes_from() -> None:
    entries = list_datasets()
    assert [entry.name for entry in entries] == ["cifar100", "cub200", "digits", "folder", "imagenet_r"]
    for entry in entries:
        assert 20 < len(entry.summary) <= 120
        assert not entry.summary.endswith(".")
        if entry.archive:
            assert entry.archive.remote.url.startswith("https://")
            assert entry.archive.remote.size > 10**8
            assert re.fullmatch("[0-9a-f]{32}", entry.archive.remote.md5)


def test_names_and_paths(tmp_path: Path) -> None:
    write_class_folders(tmp_path / "fruit", ("apple", "pear"), 5)
    assert load_dataset("digits").name == "digits"
    assert load_dataset(tmp_path / "fruit").name == "folder"
    assert load_dataset(str(tmp_path / "fruit")).title == "fruit"
    assert load_dataset("folder", tmp_path / "fruit").classes == ["apple", "pear"]


@pytest.mark.parametrize(
    ("name", "said"), [("cifar10", "did you mean cifar100?"), ("nothing alike", "choose one of cifar100, cub200")]
)
def test_an_unknown_name_is_answered_with_the_known_ones(name: str, said: str) -> None:
    with pytest.raises(DataError, match=f"there is no data set '{name}'; {said}"):
        load_dataset(name)


def test_a_name_is_registered_once() -> None:
    list_datasets()
    with pytest.raises(DataError, match="'digits' is already registered"):
        register("digits")(lambda _data_dir: load_dataset("digits"))
