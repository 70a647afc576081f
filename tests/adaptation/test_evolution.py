"""CMA-ES over prompts, gains and both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foro.adaptation.evolution import Distribution, Evolution, Space
from foro.images.samples import stratified

SPACES = {
    "prompt": Space(dim=3, depth=2, prompt_tokens=2),
    "gains": Space(dim=3, depth=2, gains=True),
    "both": Space(dim=3, depth=2, prompt_tokens=2, gains=True),
}


@pytest.mark.parametrize("kind", SPACES)
def test_a_space_is_its_prompt_and_its_gains(kind: str) -> None:
    space = SPACES[kind]
    assert space.size == {"prompt": 6, "gains": 6, "both": 12}[kind]
    vector = np.arange(space.size, dtype=np.float32)
    candidate = space.candidate(vector)
    parts = [each.ravel() for each in (candidate.prompt, candidate.gains) if each is not None]
    assert np.array_equal(np.concatenate(parts), vector)
    if kind != "gains":
        assert candidate.prompt is not None
        assert candidate.prompt.shape == (2, 3)
    else:
        assert candidate.prompt is None
    if kind != "prompt":
        assert candidate.gains is not None
        assert candidate.gains.shape == (2, 3)
    else:
        assert candidate.gains is None
    start = space.initial()
    assert not start.mean.any()  # which is neutral for gains
    assert start.deviation.tolist() == pytest.approx(
        [1.0] * (0 if kind == "gains" else 6) + [0.1] * (0 if kind == "prompt" else 6)
    )


@pytest.mark.parametrize("covariance", ["separable", "full"])
@pytest.mark.parametrize("population", [2, 6])
@pytest.mark.parametrize("kind", SPACES)
def test_evolution_finds_a_target_and_repeats_under_a_seed(kind: str, covariance: Any, population: int) -> None:
    space = SPACES[kind]
    steps = space.initial().deviation
    target = np.linspace(-1, 1, space.size, dtype=np.float32) * steps

    def run(seed: int) -> np.ndarray:
        evolution = Evolution(space.initial(), population, covariance, seed)
        for _ in range(75 * space.size // population if space.size > 6 else 150):
            vectors = evolution.ask()
            assert len(vectors) == population
            assert all((each.shape, each.dtype) == ((space.size,), np.float32) for each in vectors)
            evolution.tell([float((((each - target) / steps) ** 2).sum()) for each in vectors])
        return evolution.distribution.mean

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = run(7)
    assert np.abs((first - target) / steps).max() < 0.05
    assert np.array_equal(first, run(7))
    assert not np.array_equal(first, run(8))
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("covariance", ["separable", "full"])
def test_evolution_goes_on_from_a_distribution(covariance: Any) -> None:
    start = Distribution(np.full(4, 5.0, np.float32), np.array([0.1, 0.2, 0.3, 0.4], np.float32))
    evolution = Evolution(start, population=500, covariance=covariance, seed=0)
    assert np.allclose(evolution.distribution.deviation, start.deviation, rtol=1e-4)
    vectors = np.stack(evolution.ask())
    assert np.allclose(vectors.mean(axis=0), 5.0, atol=0.1)
    assert np.allclose(vectors.std(axis=0), start.deviation, rtol=0.15)


@pytest.mark.parametrize("population", [2, 3, 4, 6])
@pytest.mark.parametrize("size", [12, 600])
def test_no_population_is_too_small_or_diverges_in_few_or_in_many_dimensions(population: int, size: int) -> None:
    evolution = Evolution(Distribution(np.ones(size, np.float32), np.ones(size, np.float32)), population)
    best = []
    for _ in range(60):
        vectors = evolution.ask()
        assert len(vectors) == population
        values = [float(np.square(each).sum()) for each in vectors]
        evolution.tell(values)
        best.append(min(values))
    assert min(best[-10:]) < 1.05 * min(best[:10])


def test_stratified_samples_are_spread_over_the_labels() -> None:
    labels = ["a"] * 50 + ["b"] * 3 + ["c"] * 20
    chosen = stratified(labels, 12, np.random.default_rng(0))
    names = [labels[i] for i in chosen]
    assert len(set(chosen.tolist())) == 12
    assert names.count("b") == 3
    assert abs(names.count("a") - names.count("c")) <= 1
    assert stratified(labels, 500, np.random.default_rng(0)).tolist() == list(range(73))
    assert not np.array_equal(chosen, stratified(labels, 12, np.random.default_rng(1)))
