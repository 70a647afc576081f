from __future__ import annotations

from pathlib import Path

import pytest

from foro.errors import DataError
from foro.images.class_folders import read_class_folders, split_by_name
from foro.research.datasets.folder import folder as load_folder
from foro.research.datasets.imagenet_r import imagenet_r
from tests.research.datasets.layouts import write_class_folders, write_image, write_imagenet_r


def test_labels_are_folder_names_and_strange_files_are_passed_over(tmp_path: Path) -> None:
    for name in ("pear/b.PNG", "pear/a.jpg", "pear/deep/c.webp", "apple/é.gif", ".hidden/x.jpg", "__MACOSX/x.jpg"):
        write_image(tmp_path / name)
    for name in ("pear/._a.jpg", "pear/notes.txt", "readme.jpg"):
        (tmp_path / name).write_text("no image")
    samples = read_class_folders(tmp_path)
    assert samples.labels == ["apple", "pear", "pear", "pear"]
    assert [Path(str(image)).name for image in samples.images] == ["é.gif", "a.jpg", "b.PNG", "c.webp"]
    assert {path.name for path in samples.passed_over} == {"notes.txt", "readme.jpg"}
    assert samples.notes == ("1 image lies beside the class folders and belongs to no class",)


def test_what_looks_like_a_mistake_is_said(tmp_path: Path) -> None:
    write_class_folders(tmp_path / "data" / "train", ("apple", "pear"), 2)
    write_class_folders(tmp_path / "data" / "Val", ("apple", "pear"), 2)
    split, nested, also = read_class_folders(tmp_path / "data").notes
    how = "if that is how a data set is divided"
    assert split == f"Val and train are taken for classes: {how}, give {tmp_path}/data/train"
    assert (
        nested
        == f"2 folders within Val (apple, pear) are all taken for Val: if they are classes, give {tmp_path}/data/Val"
    )
    assert "within train" in also
    write_class_folders(tmp_path / "fruit", ("apple", "pear"), 2)
    write_class_folders(tmp_path / "fruit" / "apple", ("monday",), 2)  # a class with photographs by the day
    assert read_class_folders(tmp_path / "fruit").notes == ()


def test_folders_without_images_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no folders of images"):
        read_class_folders(tmp_path)
    write_class_folders(tmp_path, ("apple",), 2)
    (tmp_path / "pear").mkdir()
    with pytest.raises(DataError, match="pear has no images"):
        read_class_folders(tmp_path)


def test_the_split_is_a_fifth_of_each_class_and_never_changes(tmp_path: Path) -> None:
    write_class_folders(tmp_path / "here", ("apple", "pear"), 10)
    train, test = split_by_name(read_class_folders(tmp_path / "here"), 0)
    names = [(label, Path(str(image)).name) for image, label in zip(test.images, test.labels, strict=True)]
    # Written down: another answer would change every published result on such data.
    assert names == [("apple", "02.jpg"), ("apple", "08.jpg"), ("pear", "07.jpg"), ("pear", "08.jpg")]
    assert len(train) == 16
    assert not {str(image) for image in train.images} & {str(image) for image in test.images}

    write_class_folders(tmp_path / "there", ("apple", "pear"), 10)
    moved, _ = split_by_name(read_class_folders(tmp_path / "there"), 0)
    assert moved.fingerprint == train.fingerprint
    other, _ = split_by_name(read_class_folders(tmp_path / "here"), 1)
    assert other.fingerprint != train.fingerprint


def test_small_classes_have_a_test_image_and_single_images_are_refused(tmp_path: Path) -> None:
    write_class_folders(tmp_path, ("apple",), 2)
    train, test = split_by_name(read_class_folders(tmp_path), 0)
    assert (len(train), len(test)) == (1, 1)
    write_class_folders(tmp_path, ("pear",), 1)
    with pytest.raises(DataError, match="the class pear has a single image"):
        split_by_name(read_class_folders(tmp_path), 0)


def test_a_folder_with_train_and_test_is_taken_as_it_is(tmp_path: Path) -> None:
    write_class_folders(tmp_path / "fruit" / "train", ("apple", "pear"), 3)
    write_class_folders(tmp_path / "fruit" / "test", ("apple", "pear"), 1)
    data = load_folder(tmp_path / "fruit")
    assert data.description == "fruit: 2 classes, 3 train and 1 test images a class; split as in its folders"
    write_class_folders(tmp_path / "fruit" / "test", ("quince",), 1)
    with pytest.raises(DataError, match="test images but no train images of the class quince"):
        load_folder(tmp_path / "fruit")


def test_a_folder_of_classes_is_split(tmp_path: Path) -> None:
    write_class_folders(tmp_path / "fruit", ("apple", "pear"), 10)
    said = "fruit: 2 classes, 8 train and 2 test images a class; 80/20 split of each class by hashed file names, seed 0"
    assert load_folder(tmp_path / "fruit").description == said


def test_what_is_no_image_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be named"):
        load_folder(None)
    with pytest.raises(DataError, match="there is no folder"):
        load_folder(tmp_path / "missing")
    write_class_folders(tmp_path / "train", ("apple",), 3)
    with pytest.raises(DataError, match="has train but not both"):
        load_folder(tmp_path)


def test_imagenet_r_says_how_it_is_split(tmp_path: Path) -> None:
    folder = write_imagenet_r(tmp_path)
    write_image(folder / "more" / "x.jpg")
    data = imagenet_r(folder)
    assert data.classes == ["n01443537", "n01484850", "n01494475"]
    assert data.description == (
        "ImageNet-R: 3 of 200 classes, 3 of 120 train and 1 of 30 test images a class; "
        "80/20 split of each class by hashed file names, seed 0"
    )
