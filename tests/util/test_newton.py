"""Newton's steps find the lowest place, of known derivatives or of differences, within bounds or without."""

from __future__ import annotations

import numpy as np
import pytest

from foro.types import Float64
from foro.util.newton import by_differences, minimum


def rosenbrock(place: Float64) -> float:
    return float((1 - place[0]) ** 2 + 100 * (place[1] - place[0] ** 2) ** 2)


def test_a_curved_valley_is_followed_to_its_end() -> None:
    assert minimum(rosenbrock, by_differences(rosenbrock), np.array([-1.2, 1.0])) == pytest.approx([1, 1], abs=1e-5)


def test_bounds_hold_and_what_is_free_is_lowest_there() -> None:
    most = np.array([0.5, 9.0])
    found = minimum(rosenbrock, by_differences(rosenbrock), np.array([-1.2, 1.0]), -9.0, most)
    assert found == pytest.approx([0.5, 0.25], abs=1e-5)


def test_from_where_a_function_bends_down_it_goes_downhill() -> None:
    def waves(place: Float64) -> float:
        return float(np.cos(place).sum())

    found = minimum(waves, by_differences(waves), np.array([0.3, -0.3]))
    assert waves(found) == pytest.approx(-2)


def test_differences_are_the_derivatives() -> None:
    def known(place: Float64) -> tuple[Float64, Float64]:
        x, y, z = place
        curvature = np.array([[2 * y, 2 * x, 0], [2 * x, 0, np.cos(z)], [0, np.cos(z), -y * np.sin(z)]])
        return np.array([2 * x * y, x**2 + np.sin(z), y * np.cos(z)]), curvature

    place = np.array([0.3, -1.2, 0.7])
    found = by_differences(lambda at: float(at[0] ** 2 * at[1] + at[1] * np.sin(at[2])))(place)
    for ours, exact in zip(found, known(place), strict=True):
        assert np.allclose(ours, exact, atol=1e-6)
