"""Wrong labels are found among right ones, and what is said of them means what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from foro.evaluation.doubts import TYPICAL_NOISE, Doubts, gain_of_more
from foro.types import Float64
from foro.util import newton

CLASSES = 8


def noisy(samples: int, share: float, seed: int = 0) -> tuple[Float64, np.ndarray, np.ndarray]:
    """Scores (n, c) that speak for the true class, true classes, and labels of which a share is wrong."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, CLASSES, samples)
    scores = np.eye(CLASSES)[truth] + 0.25 * generator.standard_normal((samples, CLASSES))
    given = truth.copy()
    wrong = generator.random(samples) < share
    given[wrong] = (truth[wrong] + generator.integers(1, CLASSES, int(wrong.sum()))) % CLASSES
    return scores, truth, given


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
def test_the_share_of_wrong_labels_and_the_labels_are_found(share: float) -> None:
    scores, truth, given = noisy(1000, share)
    found = Doubts.fit(given, scores, None)
    wrong = given != truth
    assert found.noise == pytest.approx(share, abs=0.02)
    assert found.wrong.mean() == pytest.approx(wrong.mean(), abs=0.02)
    called = found.wrong >= 0.5
    assert called.sum() <= wrong.sum() + 10
    if share:
        assert wrong[called].mean() > 0.9
        assert called[wrong].mean() > 0.8
        assert wrong[found.order[: wrong.sum()]].mean() > 0.85
        assert (found.suggested == truth)[wrong].mean() > 0.9
    assert np.allclose(found.chances.sum(axis=1), 1.0)


def test_distances_that_say_more_than_scores_count_more() -> None:
    scores, truth, given = noisy(600, 0.05)
    useless = np.random.default_rng(1).standard_normal(scores.shape)
    wrong = given != truth
    for one, other in ((scores, -useless), (useless, -scores)):
        found = Doubts.fit(given, one, other)
        assert wrong[found.order[: wrong.sum()]].mean() > 0.8


@pytest.mark.parametrize("seed", range(6))
def test_what_is_fitted_is_as_likely_as_what_scipy_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def both(loss: Any, derivatives: Any, first: Float64, least: Float64, most: Float64, longest: float) -> Float64:
        found = newton.minimum(loss, derivatives, first, least, most, longest)
        bounds = [*zip(least, most, strict=True)]
        expected = loss(np.asarray(minimize(loss, first, method="L-BFGS-B", bounds=bounds).x))
        compared.append(loss(found) <= expected + 1e-6 * abs(expected))
        return found

    monkeypatch.setattr("foro.evaluation.doubts.minimum", both)
    useless = np.random.default_rng(seed).standard_normal((600, CLASSES))
    for samples, share in ((3, 0.0), (40, 0.2), (600, 0.05)):
        scores, _, given = noisy(samples, share, seed)
        for distances in (None, 1 - scores, useless[:samples]):
            Doubts.fit(given, scores, distances)
    assert compared == [True] * 9


def test_a_few_images_do_not_change_what_is_assumed() -> None:
    scores, _, given = noisy(3, 0.0)
    assert Doubts.fit(given, scores, None).noise == pytest.approx(TYPICAL_NOISE, abs=0.01)


def test_more_than_enough_images_are_fitted_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foro.evaluation.doubts.MOST_FITTED", 200)
    scores, truth, given = noisy(1000, 0.1)
    found = Doubts.fit(given, scores, None)
    assert found.probabilities.shape == (1000, CLASSES)
    assert found.noise == pytest.approx((given != truth).mean(), abs=0.05)


def test_confusions_and_mistakes_leave_wrong_labels_out() -> None:
    likely = np.array([[0.9, 0.1], [0.6, 0.4], [0.0, 1.0], [0.0, 1.0]])
    found = Doubts(np.array([0, 0, 0, 1]), likely, 0.05)
    assert found.wrong[2] == pytest.approx(1.0)
    assert found.confusions()[1] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert found.confusions()[0, 1] == pytest.approx(0.5, abs=0.05)
    mistakes = found.mistakes()
    assert mistakes[0] > mistakes[1] > 0


def test_more_images_gain_most_where_there_are_few_and_many_mistakes() -> None:
    gains = gain_of_more(np.array([0.4, 0.4, 0.1]), [5, 80, 5], 20)
    assert gains[0] > gains[1]
    assert gains[0] > gains[2]
    odds = 0.4 / 0.6 * (5 / 25) ** 0.5
    assert gains[0] == pytest.approx(0.4 - odds / (1 + odds))
