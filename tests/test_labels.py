"""Labels: what a slip of the hand looks like."""

from __future__ import annotations

import pytest

from foro.labels import lookalikes
from foro.types import Label


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Maine coon", "Maine Coon"),
        ("maine_coon", "Maine Coon"),
        ("Mainecoon", "Maine Coon"),
        ("Mane Coon", "Maine Coon"),
        ("Maine Coons", "Maine Coon"),
        ("Maine Coom", "Maine Coon"),
        ("Miane Coon", "Maine Coon"),
        ("CAT", "cat"),
        ("001.Black_footed_Albatros", "001.Black_footed_Albatross"),
    ],
)
def test_slips_are_noticed(new: str, known: str) -> None:
    assert lookalikes([new], ["dog", known, 7]) == [(new, known)]
    assert lookalikes([known, new], []) == [(new, known)]


@pytest.mark.parametrize(
    ("new", "known"),
    [("cat", "bat"), ("texture 1", "texture 2"), (7, 8), ("17", "7"), ("Sparrow", "Swallow"), ("class 10", "class 1")],
)
def test_what_differs_is_left_alone(new: Label, known: Label) -> None:
    assert lookalikes([new], [known]) == []


def test_many_labels_take_no_time() -> None:
    labels: list[Label] = [f"{number * 7919 % 100_003:05d} of a long list of labels" for number in range(5000)]
    assert lookalikes(labels, []) == []
