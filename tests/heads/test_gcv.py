"""The regularisation that is chosen is the one that generalised cross-validation, as defined, would choose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foro.heads.ridge import KnowledgeEncoder, packed
from foro.heads.ridge.gcv import Spectrum, grid_index, grid_value
from foro.heads.ridge.solver import MOST_FACTORISATIONS, Solver
from foro.heads.ridge.statistics import Statistics


def gcv_by_definition(H: np.ndarray, Y: np.ndarray, gamma: float) -> float:
    hat = H @ np.linalg.solve(H.T @ H + gamma * np.eye(H.shape[1]), H.T)
    return len(H) * float(((Y - hat @ Y) ** 2).sum()) / (len(H) - np.trace(hat)) ** 2


def statistics_of(H: np.ndarray, numbers: np.ndarray, tail_limit: int) -> Statistics:
    statistics = Statistics(H.shape[1], thin_limit=tail_limit)
    statistics.reserve(int(numbers.max()) + 1, len(H))
    statistics.add(iter([H]), numbers)
    return statistics


@given(st.integers(2, 40), st.integers(2, 30), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_gcv_is_its_definition(samples: int, size: int, classes: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    H, numbers = generator.standard_normal((samples, size)), generator.integers(0, classes, samples)
    Y = np.eye(int(numbers.max()) + 1)[numbers]
    statistics = statistics_of(H, numbers, tail_limit=100)
    by_rows = Spectrum.of_rows(H, statistics)
    by_matrix = Spectrum.of_matrix(H.T @ H, statistics)
    for gamma in (1e-2, 1.0, 1e3):
        expected = gcv_by_definition(H, Y, gamma)
        assert by_rows.gcv(gamma) == pytest.approx(expected, rel=1e-6)
        assert by_matrix.gcv(gamma) == pytest.approx(expected, rel=1e-6)
        solution = np.linalg.solve(H.T @ H + gamma * np.eye(size), H.T @ Y)
        leverages = np.einsum("nm,mn->n", H, np.linalg.solve(H.T @ H + gamma * np.eye(size), H.T))
        for spectrum in (by_rows, by_matrix):
            np.testing.assert_allclose(spectrum.weights(gamma), solution, atol=1e-8)
            np.testing.assert_allclose(spectrum.leverages(spectrum.along(H), gamma), leverages, atol=1e-8)
        if by_rows.basis is not None:
            np.testing.assert_allclose(by_rows.along_basis(list(range(samples))), by_rows.along(H), atol=1e-6)


@given(st.integers(1, 12), st.integers(2, 30), st.integers(1, 2), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_rounding_does_not_choose(samples: int, size: int, classes: int, seed: int) -> None:
    # Fewer samples than features are fitted whole: GCV is then nearly flat, and what is left of ‖Y‖² is rounding.
    generator = np.random.default_rng(seed)
    H, numbers = np.abs(generator.standard_normal((samples, size))), generator.integers(0, classes, samples)
    statistics = statistics_of(H, numbers, tail_limit=100)
    assert Spectrum.of_rows(H, statistics).best_index() == Spectrum.of_matrix(H.T @ H, statistics).best_index()


def test_the_slope_from_a_factor_is_the_slope_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    size = 40
    H, numbers = np.abs(generator.standard_normal((90, size))), generator.integers(0, 4, 90)
    statistics = statistics_of(H, numbers, tail_limit=1)
    solver = Solver(statistics, None, seed=0)
    Y = np.eye(4)[numbers]
    # As many orthogonal probes as dimensions make Hutchinson's estimate exact.
    monkeypatch.setattr(
        "foro.heads.ridge.solver._probes", lambda size, _seed: np.sqrt(size) * np.linalg.qr(H[:size].T)[0]
    )
    for index in (-2, 3, 8):
        left, here, right = (np.log(gcv_by_definition(H, Y, grid_value(index + step))) for step in (-1e-3, 0, 1e-3))
        slope, curvature = solver._slope(solver._factorise(grid_value(index)))
        assert slope == pytest.approx((right - left) / 2e-3, rel=1e-4)
        assert curvature == pytest.approx((right - 2 * here + left) / 1e-6, rel=1e-3)


@pytest.mark.parametrize("samples", [400, 700, 3000])
def test_large_matrices_get_the_best_of_the_grid_within_four_factorisations(samples: int) -> None:
    generator = np.random.default_rng(samples)
    centres = generator.standard_normal((20, 16))
    numbers = generator.integers(0, 20, samples)
    X = centres[numbers] + 0.8 * generator.standard_normal((samples, 16))
    encoder = KnowledgeEncoder(16, 1536)
    encoder.absorb(X, numbers)
    chosen = grid_index(encoder.regularisation_used)
    assert 1 <= encoder.solver.factorisations <= MOST_FACTORISATIONS
    spectrum = Spectrum.of_matrix(packed.unpack(encoder._statistics.gram, 1536), encoder._statistics)
    best = spectrum.gcv(grid_value(spectrum.best_index()))
    assert spectrum.gcv(grid_value(chosen)) <= best * 1.02
    guess, reach = encoder.solver._guess(1.0)
    assert abs(guess - spectrum.minimum()) <= reach == 1


def test_probes_do_not_lead_astray_where_samples_are_fewer_than_features() -> None:
    generator = np.random.default_rng(0)
    centres = np.random.default_rng(12345).standard_normal((100, 192))
    numbers = generator.integers(0, 100, 1100)
    X = centres[numbers] + 2 * generator.standard_normal((1100, 192))
    encoder = KnowledgeEncoder(192, 4096)
    encoder.absorb(X, numbers)
    H = encoder.project(X)
    columns = np.array([encoder.labels.index(number) for number in numbers.tolist()])
    spectrum = Spectrum.of_rows(H, statistics_of(H, columns, tail_limit=len(H)))
    assert abs(grid_index(encoder.regularisation_used) - spectrum.minimum()) <= 1
    assert encoder.solver.factorisations <= 2


def test_equal_values_choose_the_strongest() -> None:
    encoder = KnowledgeEncoder(3, 16)
    encoder.absorb([[1.0, 2.0, 3.0]], ["only"])  # GCV of a single sample is the same for every γ
    scale = float((encoder.project([[1.0, 2.0, 3.0]]) ** 2).sum())
    assert encoder.regularisation_used == grid_value(grid_index(1e3 * scale))


@pytest.mark.parametrize("size", [96, 1536], ids=["eigenvalues", "factors"])
def test_samples_that_came_ten_times_are_regularised_as_one(size: int) -> None:
    generator = np.random.default_rng(3)
    centres = generator.standard_normal((6, 64))
    numbers = generator.integers(0, 6, 240)
    X = centres[numbers] + 2 * generator.standard_normal((240, 64))
    once, often = KnowledgeEncoder(64, size), KnowledgeEncoder(64, size)
    once.absorb(X, numbers.tolist())
    for _ in range(10):
        often.absorb(X, numbers.tolist())
    assert often.regularisation_used == pytest.approx(10 * once.regularisation_used)
    assert np.allclose(often.weights, once.weights, rtol=1e-6, atol=1e-9)


def test_near_copies_are_regularised_as_one() -> None:
    generator = np.random.default_rng(4)
    centres = generator.standard_normal((6, 64))
    numbers = generator.integers(0, 6, 120)
    X = centres[numbers] + 2 * generator.standard_normal((120, 64))
    once, often, strangers = (KnowledgeEncoder(64, 512) for _ in range(3))
    once.absorb(X, numbers.tolist())
    for encoder, apart in ((often, 0.03), (strangers, 2.0)):
        for _ in range(4):
            encoder.absorb(X + apart * generator.standard_normal(X.shape), numbers.tolist())
    assert once._reservoir.distinct_share() == strangers._reservoir.distinct_share() == 1
    assert often._reservoir.distinct_share() == pytest.approx(0.25)
    assert often.regularisation_used >= 3 * once.regularisation_used
