"""Known from unknown: what closed forms say is what refits say, and moments add up as exactly as the Gram matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from foro.heads.familiarity import KEPT, Coefficients, Familiarity
from foro.heads.ridge import KnowledgeEncoder
from foro.heads.ridge.moments import STUDENT, Moments, _keeping, class_left_out_scores
from foro.types import Float64

FEATURES = 6


def clusters(classes: int, each: int, seed: int = 0, spread: float = 3.0) -> tuple[Float64, list[str]]:
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((classes, FEATURES)) * spread
    numbers = np.repeat(np.arange(classes), each)
    return centres[numbers] + generator.standard_normal((len(numbers), FEATURES)), [f"class {n}" for n in numbers]


def taught(X: Float64, labels: list[str]) -> KnowledgeEncoder:
    encoder = KnowledgeEncoder(FEATURES, 32, 0.5)
    encoder.absorb(X, labels)
    return encoder


def told(encoder: KnowledgeEncoder, X: Float64) -> Float64:
    familiarity = encoder.familiarity()
    assert familiarity is not None
    return familiarity.unknown(X, encoder.scores(X))


def test_the_quantiles_are_those_of_student_and_no_more_are_needed() -> None:
    freedom = np.arange(1, len(STUDENT) + 1)
    assert np.allclose(STUDENT, stdtrit(freedom, KEPT), atol=1e-7)
    few = Coefficients(1.0, 0.0, 0.0)
    for samples in range(1, 40):
        _keeping(few, np.random.default_rng(0).standard_normal((samples, 2)))


@pytest.mark.parametrize("classes", [1, 2, 5, 8])
def test_samples_of_other_classes_are_unknown(classes: int) -> None:
    kept, refused = [], []
    for seed in range(6):
        X, labels = clusters(12, 20, seed)
        inside, new = 20 * classes, clusters(12, 20, 100 + seed)[0]
        unknown = told(taught(X[:inside], labels[:inside]), new)
        kept.append((unknown[:inside] < 0.5).mean())
        refused.append((unknown[inside:] > 0.5).mean())
        assert np.median(unknown[inside:]) > 2 * np.median(unknown[:inside])
    assert np.mean(kept) > 0.9
    assert np.mean(refused) > 0.8


@pytest.mark.parametrize(("classes", "spread"), [(3, 1.0), (8, 0.5), (8, 2.0)])
def test_about_one_in_twenty_known_samples_is_refused_however_alike_the_classes_are(
    classes: int, spread: float
) -> None:
    shares = []
    for seed in range(6):
        X, labels = clusters(classes, 30, seed, spread)
        shares.append((told(taught(X, labels), clusters(classes, 100, 100 + seed, spread)[0]) >= 0.5).mean())
    assert 0.03 < np.mean(shares) < 0.07


def test_few_known_samples_are_refused_where_others_are_far() -> None:
    X, labels = clusters(12, 30, spread=10.0)
    unknown = told(taught(X[:240], labels[:240]), clusters(12, 100, seed=1, spread=10.0)[0])
    assert (unknown[:800] >= 0.5).mean() < 0.02
    assert (unknown[800:] >= 0.5).mean() > 0.9


@pytest.mark.parametrize("samples", [3, 18, 19, 200])
def test_the_chance_of_one_half_is_where_one_in_twenty_left_out_samples_is(samples: int) -> None:
    odds = np.random.default_rng(0).standard_normal(samples) + 2
    found = _keeping(Coefficients(0.0, 1.0, 0.0), np.stack([np.zeros(samples), odds], axis=1))
    beyond = int((odds + found.constant > 0).sum())
    assert beyond <= max(1, samples // 20)
    assert samples < 200 or beyond == 9  # the 191st of 200 is where the chance is one half
    apart = _keeping(Coefficients(0.0, 1.0, -20.0), np.stack([np.zeros(samples), odds], axis=1))
    assert apart.constant == -20.0


def test_the_distance_is_the_relative_mahalanobis_distance() -> None:
    X, labels = clusters(6, 40)
    familiarity = taught(X, labels).familiarity()
    assert familiarity is not None
    numbers = np.array([int(label[6:]) for label in labels])
    means = np.stack([X[numbers == number].mean(axis=0) for number in range(6)])

    def inverse(rows: Float64, free: int) -> Float64:
        covariance = rows.T @ rows / free
        return np.linalg.inv(0.65 * covariance + 0.35 * np.trace(covariance) / FEATURES * np.eye(FEATURES))

    within, overall = inverse(X - means[numbers], 234), inverse(X - X.mean(axis=0), 239)
    new = clusters(5, 3, seed=2)[0]
    nearest = np.min([np.einsum("ni,ij,nj->n", new - mean, within, new - mean) for mean in means], axis=0)
    around = np.einsum("ni,ij,nj->n", new - X.mean(axis=0), overall, new - X.mean(axis=0))
    assert np.allclose(familiarity.distances(new), (nearest - around) / FEATURES, atol=1e-4)


@given(seed=st.integers(0, 50), gamma=st.sampled_from([0.1, 1.0, 10.0]))
def test_scores_without_the_class_are_those_of_a_refit_where_a_class_has_two_samples(seed: int, gamma: float) -> None:
    X, labels = clusters(4, 2, seed)
    encoder = KnowledgeEncoder(FEATURES, None, gamma)
    encoder.absorb(X, labels)
    classes = np.repeat(np.arange(4), 2)
    inverse = np.linalg.inv(X.T @ X + gamma * np.eye(FEATURES))
    leverages = np.einsum("ni,ij,nj->n", X, inverse, X)
    counts = np.full(4, 2.0)
    of_means = np.stack([X[classes == number].mean(axis=0) for number in range(4)]) @ encoder.weights
    found = class_left_out_scores(encoder.scores(X), classes, leverages, counts, of_means)
    for number in range(4):
        others = KnowledgeEncoder(FEATURES, None, gamma)
        kept = classes != number
        others.absorb(X[kept], [label for label in labels if label != f"class {number}"])
        expected = others.scores(X[~kept])
        assert np.allclose(np.delete(found[~kept], number, axis=1), expected, rtol=1e-6, atol=1e-8)


@given(cut=st.integers(1, 39), removed=st.integers(0, 12))
def test_batches_merging_and_unlearning_leave_no_trace(cut: int, removed: int) -> None:
    X, labels = clusters(8, 5)
    whole = taught(X, labels)
    parts, other = taught(X[:cut], labels[:cut]), taught(X[cut:], labels[cut:])
    parts.merge(other)
    more, more_labels = clusters(5, 4, seed=3)
    if removed:
        parts.absorb(more[:removed], more_labels[:removed])
        parts.unlearn(more[:removed], more_labels[:removed])
    new = clusters(6, 5, seed=4)[0]
    assert np.allclose(told(whole, new), told(parts, new), atol=1e-5)


def test_a_forgotten_class_is_unknown_until_it_is_restored() -> None:
    X, labels = clusters(7, 15)
    encoder, new = taught(X, labels), clusters(7, 15, seed=1)[0]
    before = told(encoder, new)
    encoder.forget("class 0")
    assert np.median(told(encoder, new)[:15]) > np.median(before[:15])
    encoder.restore("class 0")
    assert np.allclose(np.sort(told(encoder, new)), np.sort(before), atol=1e-6)


def test_what_was_stored_says_the_same() -> None:
    X, labels = clusters(7, 10)
    encoder = taught(X, labels)
    arrays, settings = encoder.state()
    again = KnowledgeEncoder.from_state({name: each.copy() for name, each in arrays.items()}, settings)
    new = clusters(6, 5, seed=4)[0]
    assert np.array_equal(told(encoder, new), told(again, new))
    familiarity = encoder.familiarity()
    assert familiarity is not None
    assert np.array_equal(
        Familiarity.from_state(*familiarity.state()).unknown(new, encoder.scores(new)), told(encoder, new)
    )
    again.absorb(*clusters(5, 2, seed=5))
    encoder.absorb(*clusters(5, 2, seed=5))
    assert np.allclose(told(encoder, new), told(again, new), atol=1e-6)


@pytest.mark.parametrize("classes", [1, 3])
def test_one_sample_of_each_class_tells_nothing(classes: int) -> None:
    X, labels = clusters(classes, 1)
    assert taught(X, labels).familiarity() is None
    assert KnowledgeEncoder.from_state(*taught(X, labels).state()).familiarity() is None


def test_one_class_promises_no_accuracy() -> None:
    X, labels = clusters(1, 20)
    estimate = taught(X, labels).estimate()
    assert estimate.accuracy is None
    assert estimate.classes == {"class 0": (0, 0)}


def test_moments_read_the_first_three_parts_or_the_last_features() -> None:
    assert (len(Moments(70, 7).tokens), Moments(70, 7).width, Moments(70, 7).first) == (3, 10, 0)
    assert (len(Moments(1500, 1).tokens), Moments(1500, 1).width, Moments(1500, 1).first) == (1, 1024, 476)
