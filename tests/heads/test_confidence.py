"""Leave-one-out scores are those of classifiers fitted without the sample, and probabilities mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foro.heads.calibration import TYPICAL_SHARPNESS
from foro.heads.ridge import KnowledgeEncoder
from foro.heads.ridge.confidence import Confidence
from foro.types import Float64

FEATURES = 4


def clusters(samples: int, classes: int, noise: float, seed: int) -> tuple[Float64, list[str]]:
    centres = np.random.default_rng(99).standard_normal((classes, FEATURES))
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, classes, samples)
    X = centres[numbers] + noise * generator.standard_normal((samples, FEATURES))
    return X, [f"class {number}" for number in numbers]


@given(
    samples=st.integers(4, 40),
    cut=st.integers(1, 40),
    projection_dim=st.sampled_from([None, 5, 24, 64]),
    gamma=st.sampled_from([0.01, 0.5, 20.0]),
    limits=st.sampled_from([(1, 1), (3, 8), (100, 100)]),
    spectral=st.booleans(),
    removed=st.integers(0, 2),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_scores_are_those_of_refits_without_each_sample(
    samples: int,
    cut: int,
    projection_dim: int | None,
    gamma: float,
    limits: tuple[int, int],
    spectral: bool,
    removed: int,
    seed: int,
) -> None:
    X, labels = clusters(samples, 3, 0.5, seed)
    encoder = KnowledgeEncoder(FEATURES, projection_dim, gamma)
    encoder._statistics.thin_limit, encoder._statistics.tail_limit = limits
    encoder.solver.spectral_limit = 1024 if spectral else 0
    cut = min(cut, samples - 1)
    encoder.absorb(X[:cut], labels[:cut])
    encoder.predict(X[:1])
    encoder.absorb(X[cut:], labels[cut:])
    if removed:
        encoder.unlearn(X[:removed], labels[:removed])
        X, labels = X[removed:], labels[removed:]
    measured = encoder._measured()
    judged = [i for i in range(len(labels)) if labels.count(labels[i]) > 1]
    assert len(measured.scores) == len(judged)
    H = encoder.project(X)
    Y = np.array([[name == label for name in encoder.labels] for label in labels], dtype=float)
    order = [
        next(j for j in judged if np.array_equal(X[j], kept))
        for kept, label in zip(encoder._reservoir.features, encoder._reservoir.labels, strict=True)
        if labels.count(label) > 1
    ]
    for row, left_out in enumerate(order):
        others = [i for i in range(len(labels)) if i != left_out]
        A = H[others].T @ H[others] + gamma * np.eye(H.shape[1])
        expected = H[left_out] @ np.linalg.solve(A, H[others].T @ Y[others])
        assert np.allclose(measured.scores[row], expected, rtol=1e-6, atol=1e-7)
        assert encoder.labels[measured.classes[row]] == labels[left_out]


@pytest.mark.parametrize("regularisation", ["auto", 0.3])
def test_any_way_of_learning_gives_the_same_probabilities(regularisation: float | str) -> None:
    X, labels = clusters(700, 5, 0.8, 0)
    whole = KnowledgeEncoder(FEATURES, 48, regularisation)
    whole.absorb(X, labels)
    parts = KnowledgeEncoder(FEATURES, 48, regularisation)
    elsewhere = parts.blank()
    for start in range(0, 350, 70):
        parts.absorb(X[start : start + 70], labels[start : start + 70])
        parts.probabilities(X[:2])
    elsewhere.absorb(X[350:], labels[350:])
    parts.merge(elsewhere)
    columns = [parts.labels.index(label) for label in whole.labels]
    assert np.allclose(parts.probabilities(X)[:, columns], whole.probabilities(X), atol=1e-6)
    assert parts.estimate().accuracy == whole.estimate().accuracy
    assert whole.estimate().samples == 512


def test_probabilities_are_as_sure_as_they_are_right() -> None:
    for noise in (0.3, 0.8, 1.5):
        X, labels = clusters(1200, 4, noise, 1)
        encoder = KnowledgeEncoder(FEATURES, 64)
        encoder.absorb(X[:600], labels[:600])
        found = encoder.probabilities(X[600:])
        assert np.allclose(found.sum(axis=1), 1)
        right = np.array([encoder.labels[i] == true for i, true in zip(found.argmax(1), labels[600:], strict=True)])
        assert found.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.08)
        estimate = encoder.estimate()
        assert estimate.accuracy == pytest.approx(right.mean(), abs=0.06)
        assert sum(samples for samples, _ in estimate.classes.values()) == estimate.samples == 512
        assert sum(correct for _, correct in estimate.classes.values()) == round(512 * estimate.accuracy)


def test_few_samples_that_are_all_right_do_not_make_certain() -> None:
    X, labels = clusters(8, 2, 0.01, 2)
    encoder = KnowledgeEncoder(FEATURES, 64)
    encoder.absorb(X, labels)
    assert encoder.estimate().accuracy == 1.0
    assert 0.6 < encoder.probabilities(X).max() < 0.999


def test_a_single_label_is_certain_and_single_samples_cannot_be_judged() -> None:
    encoder = KnowledgeEncoder(FEATURES, 16)
    encoder.absorb(np.eye(FEATURES), ["only"] * FEATURES)
    assert encoder.probabilities(np.ones((2, FEATURES))).tolist() == [[1.0], [1.0]]
    encoder = KnowledgeEncoder(FEATURES, 16)
    encoder.absorb(np.eye(FEATURES), ["a", "b", "c", "d"])
    assert encoder.sharpness == TYPICAL_SHARPNESS
    assert encoder.estimate().accuracy is None
    assert encoder.estimate().classes["a"] == (0, 0)


def test_a_forgotten_label_is_neither_judged_nor_likely() -> None:
    X, labels = clusters(200, 4, 0.8, 3)
    for measure_first in (True, False):
        encoder = KnowledgeEncoder(FEATURES, 32)
        encoder.absorb(X, labels)
        if measure_first:
            encoder.estimate()
        encoder.forget("class 1")
        fresh = encoder.estimate(), encoder.sharpness
        assert "class 1" not in fresh[0].classes
        assert encoder.probabilities(X).shape == (200, 3)
        assert fresh[0].samples == sum(label != "class 1" for label in labels)
        encoder._confidence = None
        again = encoder.estimate(), encoder.sharpness
        assert again[0] == fresh[0]
        assert again[1] == pytest.approx(fresh[1], rel=1e-6)


@pytest.mark.parametrize("thin", [True, False])
def test_state_keeps_what_was_measured(thin: bool) -> None:
    X, labels = clusters(120, 3, 0.8, 4)
    encoder = KnowledgeEncoder(FEATURES, 400 if thin else 40)
    encoder.absorb(X[:100], labels[:100])
    encoder.predict(X[:1])
    encoder.absorb(X[100:], labels[100:])
    arrays, stored = encoder.state()
    again = KnowledgeEncoder.from_state(dict(arrays), stored)
    assert np.array_equal(again.probabilities(X), encoder.probabilities(X))
    assert again.estimate() == encoder.estimate()


def test_a_model_with_a_reservoir_but_nothing_measured_can_be_measured() -> None:
    X, labels = clusters(300, 3, 0.8, 5)
    encoder = KnowledgeEncoder(FEATURES, 40)
    encoder.solver.spectral_limit = 0
    encoder.absorb(X[:290], labels[:290])
    encoder.predict(X[:1])
    encoder.absorb(X[290:], labels[290:])
    expected = encoder.estimate(), encoder.sharpness
    arrays, stored = encoder.state()
    again = KnowledgeEncoder.from_state(arrays, stored)
    again.solver.spectral_limit = 0
    again._confidence = None
    assert again.estimate() == expected[0]
    assert again.sharpness == pytest.approx(expected[1], rel=1e-6)
    arrays, stored = again.state()
    total = KnowledgeEncoder.from_state(arrays, stored)
    assert total.samples == 300
    total.absorb(X[:1], labels[:1])
    assert np.isfinite(total.weights).all()


def test_a_damaged_state_is_refused() -> None:
    X, labels = clusters(30, 3, 0.8, 6)
    encoder = KnowledgeEncoder(FEATURES, 40)
    encoder.absorb(X, labels)
    arrays, stored = encoder.state()
    for name in ("reservoir.features", "reservoir.counts", "confidence.scores"):
        with pytest.raises(ValueError, match=name):
            KnowledgeEncoder.from_state({**arrays, name: arrays[name][:-1]}, stored)
    with pytest.raises(ValueError, match="of no class"):
        KnowledgeEncoder.from_state({**arrays, "reservoir.classes": arrays["reservoir.classes"] + 3}, stored)


def test_empty_confidence_has_nothing_to_say() -> None:
    empty = Confidence.fit(np.zeros((0, 3)), np.zeros(0, dtype=np.int64))
    assert empty.sharpness == TYPICAL_SHARPNESS
    assert empty.estimate(["a", "b", "c"]).accuracy is None


def wide(classes: int, each: int, seed: int = 0) -> tuple[Float64, list[str]]:
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((classes, 80))
    numbers = np.repeat(np.arange(classes), each)
    return centres[numbers] + 2.0 * generator.standard_normal((len(numbers), 80)), [f"class {n}" for n in numbers]


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_learning_the_same_again_promises_no_more(noise: float) -> None:
    X, labels = wide(8, 8)
    once, twice = KnowledgeEncoder(80, 256), KnowledgeEncoder(80, 256)
    again = X + noise * np.random.default_rng(1).standard_normal(X.shape)
    once.absorb(X, labels)
    twice.absorb(X, labels)
    twice.absorb(again, labels)
    new, truth = wide(8, 50, seed=2)
    right = np.mean([answer == label for answer, label in zip(twice.predict(new), truth, strict=True)])
    promised = [encoder.estimate().accuracy for encoder in (once, twice)]
    assert promised[0] is not None
    assert promised[1] is not None
    assert promised[1] == pytest.approx(right, abs=0.15)
    assert promised[1] <= promised[0] + 0.1


def test_merging_a_model_with_itself_promises_no_more() -> None:
    X, labels = wide(8, 8)
    one, other = KnowledgeEncoder(80, 256), KnowledgeEncoder(80, 256)
    one.absorb(X, labels)
    other.absorb(X, labels)
    before = one.estimate().accuracy
    one.merge(other)
    after = one.estimate().accuracy
    assert before is not None
    assert after is not None
    assert after <= before + 0.1


@given(copies=st.integers(1, 4), seed=st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_copies_are_left_out_together(copies: int, seed: int) -> None:
    X, labels = clusters(20, 3, 0.5, seed)
    more = X[:1].repeat(copies, axis=0)
    encoder = KnowledgeEncoder(FEATURES, 24, 0.5)
    encoder.absorb(X, labels)
    encoder.absorb(more, labels[:1] * copies)
    measured, reservoir = encoder._measured(), encoder._reservoir
    H = encoder.project(X[1:])
    Y = np.array([[name == label for name in encoder.labels] for label in labels[1:]], dtype=float)
    for row, number in enumerate(encoder._judged().numbers):
        if np.array_equal(reservoir.features[number], X[0]):
            expected = encoder.project(X[:1]) @ np.linalg.solve(H.T @ H + 0.5 * np.eye(24), H.T @ Y)
            assert np.allclose(measured.scores[row], expected[0], rtol=1e-6, atol=1e-7)
