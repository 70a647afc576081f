"""Numbers of an evaluation against counting by hand, and its pictures and page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foro import Learner
from foro.backbones import Backbone
from foro.errors import InputError
from foro.evaluation import Evaluation
from foro.evaluation.evaluation_page import render_evaluation
from foro.evaluation.pictures import MOST_NAMES, draw_confusion, draw_reliability, save_confusion
from foro.images.unreadable import UnreadableImage
from tests.conftest import textures

LABELS = ("ape", "bee", "cat")
SMALL = Evaluation(
    LABELS,
    ("ape", "ape", "bee", "bee", "cat", "dodo"),
    ("ape", "bee", "bee", "bee", "ape", "cat"),
    np.array([0.9, 0.35, 0.8, 1.0, 0.31, 0.5]),
    (UnreadableImage(2, "x.jpg cannot be read as an image: it is empty"),),
)


def test_counted_by_hand() -> None:
    assert SMALL.accuracy == 3 / 6
    assert SMALL.class_accuracy == np.mean([1 / 2, 1, 0, 0])
    assert SMALL.unknown == {"dodo": 1}
    assert SMALL.tested_classes == 4
    assert [(each.label, each.images, each.accuracy, each.precision) for each in SMALL.classes] == [
        ("ape", 2, 0.5, 0.5),
        ("bee", 2, 1.0, 2 / 3),
        ("cat", 1, 0.0, 0.0),
        ("dodo", 1, 0.0, None),
    ]
    assert SMALL.confusion.tolist() == [[1, 1, 0, 0], [0, 2, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert SMALL.confused(1) == [("ape", "bee", 1)]
    # Bins: 0.31 and 0.35, both wrong; 0.5, wrong; 0.8, right; 0.9 and 1.0, right.
    assert SMALL.calibration_error == pytest.approx((2 * 0.33 + 0.5 + 0.2 + 2 * 0.05) / 6)
    told = SMALL.as_dict()
    assert told["skipped"] == ["x.jpg cannot be read as an image: it is empty"]
    assert told["calibration"][3] == {"images": 2, "confidence": pytest.approx(0.33), "accuracy": 0.0}
    assert told["calibration"][0] is None


@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_numbers_agree_with_each_other(count: int, classes: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    truth, answers = generator.integers(0, classes, (2, count))
    found = Evaluation(
        tuple(range(classes)), tuple(truth.tolist()), tuple(answers.tolist()), generator.uniform(size=count)
    )
    assert found.accuracy == pytest.approx(np.trace(found.confusion) / count)
    assert found.confusion.sum() == count
    assert sum(each.images for each in found.classes) == count
    assert sum(each.images for each in found.bins if each) == count
    assert 0 <= found.calibration_error <= 1
    mistakes = sum(number for _, _, number in found.confused(classes**2))
    assert mistakes == count - np.trace(found.confusion)


def test_being_as_sure_as_right_has_no_error() -> None:
    right = [True, True, True, False]
    found = Evaluation(("a", "b"), ("a",) * 4, tuple("a" if each else "b" for each in right), np.full(4, 0.75))
    assert found.calibration_error == pytest.approx(0)


def test_images_are_asked_for_and_numbers_that_look_like_labels_match(tiny_backbone: Backbone, tmp_path: Path) -> None:
    learner = Learner(tiny_backbone, policy="none", projection_dim=64)
    images, labels = textures(10)
    learner.learn(images, [int(label[-1]) for label in labels])
    asked, names = textures(6, seed=1)
    found = learner.snapshot().evaluate(
        [*asked, tmp_path / "gone.png"], [*(name[-1] for name in names), "0"], strict=False
    )
    assert found.accuracy > 0.8
    assert found.unknown == {}
    assert [each.position for each in found.bad] == [24]
    assert np.allclose(found.confidence, learner.probabilities(asked).max(axis=1), atol=1e-5)
    with pytest.raises(InputError, match="gone"):
        learner.snapshot().evaluate([*asked, tmp_path / "gone.png"], [*names, "0"])
    with pytest.raises(InputError, match="no image to evaluate"):
        learner.snapshot().evaluate([tmp_path / "gone.png"], ["0"], strict=False)


def test_pictures_of_few_and_of_many_classes(tmp_path: Path) -> None:
    many = MOST_NAMES + 10
    names = tuple(f"$ a rather long name of class number {number}" for number in range(many))
    large = Evaluation(names, names, names[::-1], np.linspace(0, 1, many))
    for number, found in enumerate((SMALL, large)):
        for picture in (draw_confusion(found), draw_reliability(found)):
            picture.savefig(tmp_path / f"{number}.png")
    save_confusion(SMALL, tmp_path / "small.svg")
    assert "<svg" in (tmp_path / "small.svg").read_text(encoding="utf-8")


def test_the_page_escapes_what_users_name() -> None:
    wicked = "<script>alert(1)</script>"
    found = Evaluation((wicked, "b"), (wicked, "b", "<i>"), ("b", "b", wicked), np.array([0.5, 0.9, 0.7]))
    html = render_evaluation(found, wicked, wicked)
    assert "<script>" not in html
    assert "<i>" not in html.replace("<i style", "")
    assert "count as wrong" in html
    assert html.count("<svg") == 2
