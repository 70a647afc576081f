from __future__ import annotations

import numpy as np
import pytest

from foro.adaptation import ActivationHistory, Fitness, PromptDistribution, PromptEvolution
from foro.adaptation.search import improves, search_prompt
from foro.features.sample import LocalSample
from foro.heads.ridge import KnowledgeEncoder
from foro.images.samples import stratified


@pytest.mark.parametrize("covariance", ["separable", "full"])
@pytest.mark.parametrize("population", [2, 6])
def test_evolution_finds_a_target_and_repeats_under_a_seed(covariance: str, population: int) -> None:
    target = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)

    def run(seed: int) -> np.ndarray:
        evolution = PromptEvolution(PromptDistribution.initial(2, 3), population, covariance, seed)
        for _ in range(150):
            candidates = evolution.ask()
            assert candidates.shape == (population, 2, 3)
            assert candidates.dtype == np.float32
            evolution.tell([float(((each - target) ** 2).sum()) for each in candidates])
        return evolution.distribution.mean

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = run(7)
    assert np.abs(first - target).max() < 0.05
    assert np.array_equal(first, run(7))
    assert not np.array_equal(first, run(8))
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_evolution_goes_on_from_a_distribution() -> None:
    start = PromptDistribution(np.full((1, 4), 5.0, np.float32), np.array([[0.1, 0.2, 0.3, 0.4]], np.float32))
    evolution = PromptEvolution(start, population=500, seed=0)
    assert np.allclose(evolution.distribution.deviation, start.deviation, rtol=1e-4)
    candidates = evolution.ask()
    assert np.allclose(candidates.mean(axis=0), 5.0, atol=0.1)
    assert np.allclose(candidates.std(axis=0), start.deviation, rtol=0.15)


def layers_with(prompt: np.ndarray, labels: list[int]) -> np.ndarray:
    """CLS of two layers that tell the classes apart the better, the nearer the prompt is to (1, 1, 1)."""
    noise = np.random.default_rng(0).standard_normal((len(labels), 2, 3)).astype(np.float32)
    signal = np.eye(3, dtype=np.float32)[labels] * 4 / (1 + float(((prompt - 1) ** 2).sum()))
    noise[:, -1] += signal
    return noise


LABELS = [0, 1, 2] * 10


def forward(tokens: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
    prompts = np.zeros((1, 1, 3)) if candidates is None else candidates
    return np.stack([layers_with(each, [LABELS[int(i)] for i in tokens[:, 0, 0]]) for each in prompts])


@pytest.mark.parametrize("population", [2, 3, 4, 6])
@pytest.mark.parametrize("dim", [4, 200])
def test_no_population_is_too_small_or_diverges_in_few_or_in_many_dimensions(population: int, dim: int) -> None:
    evolution = PromptEvolution(
        PromptDistribution(np.ones((3, dim), np.float32), np.ones((3, dim), np.float32)), population
    )
    best = []
    for _ in range(60):
        candidates = evolution.ask()
        assert len(candidates) == population
        values = [float(np.square(each).sum()) for each in candidates]
        evolution.tell(values)
        best.append(min(values))
    assert min(best[-10:]) < 1.05 * min(best[:10])


def test_search_finds_a_better_prompt_and_stops_when_nothing_gets_better() -> None:
    tokens = np.arange(30, dtype=np.float32).reshape(30, 1, 1)
    empty = forward(tokens, None)[0]
    fitness = Fitness.on(empty, LABELS, KnowledgeEncoder(3, 64), ActivationHistory.of(empty), terms="entropy")
    evolution = PromptEvolution(PromptDistribution.initial(1, 3), seed=1)
    judge = LocalSample(forward, tokens).judge(fitness, np.arange(30))
    found = search_prompt(judge, evolution, generations=60, patience=5)
    assert found.fitness < fitness(empty)
    assert found.fitness == pytest.approx(fitness(forward(tokens, found.prompt[None])[0]))
    unseen = np.zeros(30, bool)
    unseen[::4] = True
    before, after = (fitness.cross_entropy(each) for each in (empty, forward(tokens, found.prompt[None])[0]))
    assert improves(before, after, unseen)
    assert not improves(after, before, unseen)
    assert not improves(before, before, unseen)
    assert not improves(before, after, np.zeros(30, bool))

    flat = search_prompt(lambda candidates: [fitness(empty)] * len(candidates), evolution, 60, patience=3)
    assert flat.generations == 4


def test_stratified_samples_are_spread_over_the_labels() -> None:
    labels = ["a"] * 50 + ["b"] * 3 + ["c"] * 20
    chosen = stratified(labels, 12, np.random.default_rng(0))
    names = [labels[i] for i in chosen]
    assert len(set(chosen.tolist())) == 12
    assert names.count("b") == 3
    assert abs(names.count("a") - names.count("c")) <= 1
    assert stratified(labels, 500, np.random.default_rng(0)).tolist() == list(range(73))
    assert not np.array_equal(chosen, stratified(labels, 12, np.random.default_rng(1)))
