"""The search on one task: what it may cost, what it finds, and what the check makes of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foro.adaptation.activation_history import ActivationHistory
from foro.adaptation.evolution import Evolution, Space
from foro.adaptation.fitness import Fitness
from foro.adaptation.search import (
    FEWEST_GENERATIONS,
    FEWEST_IMAGES,
    Plan,
    Verdict,
    hold_classes_out,
    plan,
    positions_of,
    search,
)
from foro.features.candidate import NEUTRAL, Candidate
from foro.features.readout import Readout, Token
from foro.features.sample import LocalSample
from foro.heads.projection import RandomProjection

LABELS = [0, 1, 2] * 10
LAST = Readout("cls", 3, (Token((1,)),), together=True, raw=True)
SPACES = {
    "prompt": Space(3, 2, prompt_tokens=1),
    "gains": Space(3, 2, gains=True),
    "both": Space(3, 2, prompt_tokens=1, gains=True),
}


def layers_with(candidate: Candidate, labels: list[int]) -> np.ndarray:
    """CLS of two layers that tell the classes apart the better, the nearer each number of the candidate is to 1."""
    noise = np.random.default_rng(0).standard_normal((len(labels), 2, 3)).astype(np.float32)
    numbers = [each.ravel() for each in (candidate.prompt, candidate.gains) if each is not None] or [np.zeros(3)]
    distance = float(np.mean(np.concatenate(numbers) - 1) ** 2) * 3
    noise[:, -1] += np.eye(3, dtype=np.float32)[labels] * 4 / (1 + distance)
    return noise


def forward(tokens: np.ndarray, candidates: Sequence[Candidate]) -> np.ndarray:
    return np.stack([layers_with(each, [LABELS[int(i)] for i in tokens[:, 0, 0]]) for each in candidates])


@pytest.mark.parametrize("kind", SPACES)
def test_search_finds_a_better_candidate_and_stops_when_nothing_gets_better(kind: str) -> None:
    space = SPACES[kind]
    tokens = np.arange(30, dtype=np.float32).reshape(30, 1, 1)
    neutral = forward(tokens, [NEUTRAL])[0]
    projection = RandomProjection.draw(3, 64, "relu", 0)
    history = ActivationHistory.of(neutral)
    fitness = Fitness.on(neutral, LABELS, LAST, projection, "auto", history, terms="entropy")
    evolution = Evolution(space.initial(), seed=1)
    judge = LocalSample(forward, tokens).judge(fitness, np.arange(30))
    found = search(judge, space, evolution, generations=60, patience=5)
    assert found.fitness < fitness(neutral)
    assert found.fitness == pytest.approx(fitness(forward(tokens, [found.best])[0]))
    assert np.array_equal(found.distribution.mean, evolution.distribution.mean)  # which needs no luck
    assert fitness(forward(tokens, [space.candidate(found.distribution.mean)])[0]) < fitness(neutral)
    assert (found.best.prompt is None, found.best.gains is None) == (kind == "gains", kind == "prompt")
    before, after = (fitness.cross_entropy(forward(tokens, [each])[0]) for each in (NEUTRAL, found.best))
    assert Verdict.of(before, after).kept
    assert not Verdict.of(after, before).kept
    assert not Verdict.of(before, before).kept

    flat = search(lambda candidates: [fitness(neutral)] * len(candidates), space, evolution, 60, patience=3)
    assert flat.generations == 4
    assert search(judge, space, evolution, generations=60, patience=60, seconds=0.0).generations == 0


def test_a_search_ends_where_the_check_gains_no_more() -> None:
    space = SPACES["gains"]
    gains, checked = iter([1.0, 3.0, 2.0, 2.9, 0.0]), []

    def check(candidate: Candidate) -> Verdict:
        checked.append(candidate)
        return Verdict(next(gains), 0.5)

    found = search(
        lambda each: list(np.random.default_rng(0).random(len(each))),
        space,
        Evolution(space.initial()),
        60,
        3,
        check=check,
    )
    assert found.generations == len(checked) == 5
    assert found.verdict == Verdict(3.0, 0.5)
    assert space.candidate(found.distribution.mean).same_as(checked[1])


def test_a_verdict_is_the_paired_gain_against_its_standard_error() -> None:
    before, after = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 1.7, 2.4, 3.5])
    verdict = Verdict.of(before, after)
    assert verdict.gain == pytest.approx(0.475)
    assert verdict.error == pytest.approx(np.std([0.5, 0.3, 0.6, 0.5], ddof=1) / 2)
    assert verdict.kept
    assert str(verdict).startswith("adapted: cross-entropy -0.475 ± 0.063 on images that the search did not see")
    assert not Verdict(0.6, 0.2).kept  # more than three standard errors, not as much
    assert not Verdict(-0.3, 0.1).kept
    assert str(Verdict(-0.3, 0.1)).startswith("not adapted: cross-entropy +0.300 ± 0.100 on images")
    assert not Verdict.of(before[:1], after[:1]).kept  # one sample says nothing of its error


@given(
    passes=st.floats(0, 1e6),
    population=st.integers(2, 20),
    images=st.integers(16, 500),
    generations=st.integers(1, 60),
)
def test_the_price_bounds_the_passes(passes: float, population: int, images: int, generations: int) -> None:
    found = plan(passes, population, images, generations)
    enough = Plan(min(images, FEWEST_IMAGES), min(generations, FEWEST_GENERATIONS)).passes(population)
    assert (found is not None) == (passes >= enough)
    if found is not None:
        assert found.passes(population) <= passes
        assert min(images, FEWEST_IMAGES) <= found.images <= images
        assert min(generations, FEWEST_GENERATIONS) <= found.generations <= generations
        if found.generations > FEWEST_GENERATIONS:  # fewer generations come first, then fewer images
            assert found.images == images
        if (found.images, found.generations) != (images, generations):  # and what may be spent, is
            assert Plan(found.images + 1, found.generations + 1).passes(population) > passes


def test_plans_of_lessons() -> None:
    assert plan(3 * 80, 12, 300, 30) is None  # ten classes of eight images
    assert plan(3 * 1024, 12, 300, 30) == Plan(69, 3)
    assert plan(30 * 300, 12, 150, 30) == Plan(150, 4)
    assert plan(0, 12, 300, 30) is None
    assert plan(1e9, 12, 300, 30) == Plan(300, 30)
    assert plan(Plan(32, 1).passes(4), 4, 32, 1) == Plan(32, 1)  # who asks for less gets it


@given(classes=st.integers(4, 60), seed=st.integers(0, 100))
def test_a_third_of_the_classes_and_at_least_two_are_held_out(classes: int, seed: int) -> None:
    labels = [f"class {number % classes}" for number in range(3 * classes)]
    held = hold_classes_out(labels, np.random.default_rng(seed))
    assert held < set(labels)
    assert len(held) == max(2, round(classes / 3))
    assert len(set(labels) - held) >= 2
    assert held == hold_classes_out(labels, np.random.default_rng(seed))
    positions = positions_of(labels, held)
    assert [labels[each] in held for each in range(len(labels))] == [each in positions for each in range(len(labels))]


def test_which_classes_are_held_out_is_chance() -> None:
    labels = list(range(12))
    assert len({tuple(sorted(hold_classes_out(labels, np.random.default_rng(seed)))) for seed in range(5)}) > 1
