from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foro.errors import DataError, FoRoError, InputError
from foro.images.samples import Samples
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.handwritten import digits
from tests.research.datasets.layouts import write_image

ARRAY = np.arange(6 * 4, dtype=np.uint8).reshape(6, 2, 2)
LABELS: list[str | int] = ["b", "a", "b", "a", "b", "c"]


def test_samples_are_taken_in_the_order_asked_for() -> None:
    for images in (ARRAY, list(ARRAY)):
        taken = Samples(images, LABELS).take(np.array([5, 0]))
        assert taken.labels == ["c", "b"]
        assert np.array_equal(np.stack(list(taken.images)), ARRAY[[5, 0]])
    assert Samples(ARRAY, LABELS).positions == {"b": [0, 2, 4], "a": [1, 3], "c": [5]}


def test_the_first_of_each_class_keep_their_order() -> None:
    assert np.array_equal(Samples(ARRAY, LABELS).first(2).images, ARRAY[[0, 1, 2, 3, 5]])


def test_labels_must_fit() -> None:
    with pytest.raises(InputError, match="6 images came with 2 labels"):
        Samples(ARRAY, ["a", "b"])


def test_a_fingerprint_changes_with_anything_that_matters(tmp_path: Path) -> None:
    write_image(tmp_path / "a" / "1.png")
    write_image(tmp_path / "a" / "2.png")
    paths = [tmp_path / "a" / "1.png", tmp_path / "a" / "2.png"]
    other = ARRAY.copy()
    other[3, 1, 1] += 1
    different = [
        Samples(ARRAY, LABELS),
        Samples(other, LABELS),
        Samples(ARRAY.reshape(6, 4, 1), LABELS),
        Samples(ARRAY, LABELS[::-1]),
        Samples(ARRAY[:2], ["a", "b"]),
        Samples(list(ARRAY[:2]), ["a", "b"]),
        Samples([Image.new("RGB", (2, 2)), Image.new("L", (2, 2))], ["a", "b"]),
        Samples(paths, ["a", "b"]),
        Samples(paths[::-1], ["a", "b"]),
        Samples(paths, ["a", "a"]),
    ]
    prints = [samples.fingerprint for samples in different]
    (tmp_path / "a" / "2.png").write_bytes(b"longer than it was" * 100)
    prints.append(Samples(paths, ["a", "b"]).fingerprint)
    assert len(set(prints)) == len(prints)
    assert Samples(np.asfortranarray(ARRAY), LABELS).fingerprint == prints[0]
    with pytest.raises(DataError, match=r"gone\.png cannot be read"):
        _ = Samples([tmp_path / "gone.png"], ["a"]).fingerprint


def test_a_subset_is_described_as_one_and_contained_in_a_larger_one() -> None:
    data = digits()
    small, larger = data.subset(5, 2), data.subset(8, 2)
    assert set(Counter(small.train.labels).values()) == {5}
    assert set(Counter(small.test.labels).values()) == {2}
    assert small.description == (
        "handwritten digits: 10 classes, 5 of about 135 train and 2 of 45 test images a class; "
        "75/25 split of each class, seed 0, the first images of each class"
    )
    assert larger.subset(5).fingerprint == small.fingerprint != data.fingerprint
    assert larger.subset(5).description == small.description
    assert data.subset() is data
    assert data.subset(test_per_class=3).train is data.train
    assert (data.complete, small.complete) == (True, False)
    with pytest.raises(InputError, match="at least 1 train image a class, not 0"):
        data.subset(0)


def test_a_few_classes_are_described_as_a_part() -> None:
    data = replace(digits(), full_classes=20)
    assert not data.complete
    assert data.description.startswith("handwritten digits: 10 of 20 classes, ")


def test_digits_need_no_folder(tmp_path: Path) -> None:
    data = digits()
    assert data.classes == list(range(10))
    assert (len(data.train), len(data.test)) == (1347, 450)
    with pytest.raises(DataError, match="come with scikit-learn"):
        digits(tmp_path)


def test_a_data_set_needs_both_parts() -> None:
    samples, none = Samples(ARRAY, LABELS), Samples(ARRAY[:0], [])
    for train, test, said in (
        (none, samples, "no train images"),
        (samples, none, "no test images"),
        (samples.take([0]), samples, "no train images of the class a"),
    ):
        with pytest.raises(FoRoError, match=said):
            Dataset("set", "Set", train, test, "by hand")
