from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from foro import Learner
from foro.backbones import Backbone
from foro.errors import InputError
from foro.snapshot import Snapshot
from tests.bad_images import BAD, UNUSUAL, photo, write_images
from tests.conftest import textures


@pytest.fixture
def snapshot(tiny_backbone: Backbone) -> Snapshot:
    learner = Learner(tiny_backbone, policy="none", projection_dim=64)
    learner.learn(*textures(8))
    return learner.snapshot()


@pytest.mark.parametrize("at_once", [1, 3, 16])
def test_answers_are_the_snapshots_in_order(snapshot: Snapshot, at_once: int) -> None:
    images, _ = textures(5, seed=1)
    found = list(snapshot.predict_each(iter(images), at_once=at_once))
    assert all(one.image is other for one, other in zip(found, images, strict=True))
    expected = snapshot.probabilities(images)
    assert np.allclose([each.probabilities for each in found], expected, atol=1e-5)
    assert [each.top()[0][0] for each in found] == snapshot.predict(images)
    assert [len(each.top(3)) for each in found] == [3] * 20


@pytest.mark.parametrize("at_once", [1, 4])
def test_bad_images_stand_in_their_place(snapshot: Snapshot, tmp_path: Path, at_once: int) -> None:
    good, bad = write_images(tmp_path / "good", UNUSUAL), write_images(tmp_path / "bad", BAD)
    mixed = [path for pair in zip(good, bad, strict=False) for path in pair] + [tmp_path / "gone.jpg", tmp_path]
    found = {each.image: each for each in snapshot.predict_each(mixed, at_once=at_once)}
    assert list(found) == mixed
    for path in mixed:
        if path in good:
            assert found[path].unreadable is None
            assert found[path].top()
        else:
            error = found[path].unreadable and found[path].unreadable.reason
            assert error is not None
            assert str(path) in error
            assert found[path].top() == []


def test_strict_raises_in_its_place(snapshot: Snapshot, tmp_path: Path) -> None:
    answers = snapshot.predict_each([photo(), photo(seed=1), tmp_path / "gone.jpg"], strict=True, at_once=1)
    assert next(answers).unreadable is None
    assert next(answers).unreadable is None
    with pytest.raises(InputError, match="there is no image"):
        next(answers)


def test_one_at_a_time_asks_for_no_image_before_it_has_answered(snapshot: Snapshot) -> None:
    asked = 0

    def images() -> Iterator[object]:
        nonlocal asked
        for image in textures(2)[0]:
            asked += 1
            yield image

    for answered, _ in enumerate(snapshot.predict_each(images(), at_once=1), 1):
        assert asked == answered


def test_no_image_gives_no_answer(snapshot: Snapshot) -> None:
    assert list(snapshot.predict_each([])) == []
