from __future__ import annotations

import numpy as np
import pytest

from foro.heads.calibration import cross_entropy, fit_sharpness


def test_cross_entropy_is_its_definition() -> None:
    scores, classes = np.array([[0.2, 0.9], [1.0, -1.0]]), np.array([1, 1])
    odds = np.exp(3 * scores)
    expected = -np.log(odds[[0, 1], classes] / odds.sum(axis=1))
    assert np.allclose(cross_entropy(scores, classes, 3.0), expected)


@pytest.mark.parametrize("sharpness", [2.0, 12.0, 80.0])
def test_the_sharpness_that_made_the_labels_is_found_again(sharpness: float) -> None:
    generator = np.random.default_rng(0)
    scores = generator.standard_normal((20_000, 4)) * 3 / sharpness
    odds = np.exp(sharpness * scores)
    chances = odds / odds.sum(axis=1, keepdims=True)
    classes = (generator.random((20_000, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    assert fit_sharpness(scores, classes) == pytest.approx(sharpness, rel=0.05)
