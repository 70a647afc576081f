"""Two models on the same images: what is counted, and McNemar's exact test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from foro.evaluation import Comparison, Evaluation
from foro.types import Label


def compared(truth: list[Label], first: list[Label], second: list[Label]) -> Comparison:
    labels, sure = tuple(dict.fromkeys(truth)), np.ones(len(truth))
    one, other = (Evaluation(labels, tuple(truth), tuple(each), sure) for each in (first, second))
    return Comparison(one, other, tuple(f"{number}.png" for number in range(len(truth))))


def test_what_either_is_right_about_is_counted() -> None:
    found = compared(list("aaabbb"), list("aabbba"), list("aaabab"))
    assert (found.both, found.only_first, found.only_second) == (3, 1, 2)
    assert [(each.image, each.label, each.first, each.second) for each in found.differences] == [
        ("2.png", "a", "b", "a"),
        ("4.png", "b", "b", "a"),
        ("5.png", "b", "a", "b"),
    ]
    assert found.classes == [("a", 3, 2, 3), ("b", 3, 2, 2)]
    told = found.as_dict()
    assert (told["both_right"], told["only_first_right"], told["only_second_right"], told["both_wrong"]) == (3, 1, 2, 0)
    assert told["accuracy"] == pytest.approx([4 / 6, 5 / 6])


@pytest.mark.parametrize(
    ("only_first", "only_second", "expected"),
    [(0, 0, 1.0), (1, 0, 1.0), (0, 5, 2 / 2**5), (1, 7, 18 / 2**8), (4, 4, 1.0)],
)
def test_the_test_is_that_of_a_fair_coin(only_first: int, only_second: int, expected: float) -> None:
    truth = ["a"] * (only_first + only_second + 10)
    first = ["a"] * only_first + ["b"] * only_second + ["a"] * 10
    second = ["b"] * only_first + ["a"] * only_second + ["a"] * 10
    assert compared([*truth], [*first], [*second]).p_value == pytest.approx(expected)


@pytest.mark.parametrize(("only_first", "only_second"), [(3, 9), (20, 21), (700, 400), (2500, 2600)])
def test_the_test_is_the_one_of_scipy(only_first: int, only_second: int) -> None:
    images = only_first + only_second
    found = compared(["a"] * images, ["a"] * only_first + ["b"] * only_second, ["b"] * only_first + ["a"] * only_second)
    assert found.p_value == pytest.approx(binomtest(only_first, images).pvalue, rel=1e-9)


def test_a_number_and_its_text_are_the_same_answer() -> None:
    one = Evaluation((7,), (7, 7), (7, 7), np.ones(2))
    other = Evaluation(("7",), ("7", "7"), ("7", "7"), np.ones(2))
    assert Comparison(one, other, ("0.png", "1.png")).differences == []
