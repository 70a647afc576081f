from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foro.adaptation.activation_history import ActivationHistory, RunningActivations
from foro.adaptation.fitness import Fitness, few_shot_entropy
from foro.features.readout import Readout, Token
from foro.heads.projection import RandomProjection
from foro.heads.ridge import KnowledgeEncoder
from foro.heads.ridge.leave_one_out import leave_one_out

DEPTH, DIM = 3, 4


@pytest.fixture
def layers() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((12, DEPTH, DIM)).astype(np.float32)


LABELS = ["a", "b", "c"] * 4
LAST = Readout("cls", DIM, (Token((DEPTH - 1,)),), together=True, raw=True)


def fitness_on(layers: np.ndarray, head: KnowledgeEncoder, history: ActivationHistory, **settings: Any) -> Fitness:
    return Fitness.on(layers, LABELS, LAST, head.projection, head.regularisation, history, **settings)


def test_each_term_is_its_definition(layers: np.ndarray) -> None:
    encoder = KnowledgeEncoder(DIM, 32, regularisation=0.5)
    history = ActivationHistory.of(layers * 2 + 1)
    H, Y = encoder.project(layers[:, -1]), np.eye(3)[[0, 1, 2] * 4]
    scores = leave_one_out(H, Y, 0.5)
    entropy = min(
        -np.log((np.exp(s * scores) / np.exp(s * scores).sum(axis=1, keepdims=True) * Y).sum(axis=1)).mean()
        for s in np.geomspace(1, 100, 2000)
    )
    drift = sum(
        np.linalg.norm(layers[:, i].mean(0) - history.mean[i])
        + np.linalg.norm(layers[:, i].std(0) - history.deviation[i])
        for i in range(DEPTH)
    )

    def value(terms: str) -> float:
        return fitness_on(layers, encoder, history, discrepancy_weight=0.3, terms=terms)(layers)

    assert value("entropy") == pytest.approx(entropy, rel=1e-4)
    assert value("discrepancy") == pytest.approx(0.3 * drift / 12, rel=1e-5)
    assert value("both") == pytest.approx(entropy + 0.3 * drift / 12, rel=1e-4)


def test_features_that_tell_classes_apart_are_fitter(layers: np.ndarray) -> None:
    encoder = KnowledgeEncoder(DIM, 64)
    clear = layers * 0.1
    clear[:, -1] += np.eye(DIM, dtype=np.float32)[[0, 1, 2] * 4] * 3
    fitness = fitness_on(layers, encoder, ActivationHistory.of(layers), terms="entropy")
    assert fitness(clear) < fitness(layers)


def test_automatic_regularisation_is_chosen_on_the_samples(layers: np.ndarray) -> None:
    encoder = KnowledgeEncoder(DIM, 32)
    head = KnowledgeEncoder(DIM, 32)
    head.absorb(layers[:, -1], LABELS)
    fitness = fitness_on(layers, encoder, ActivationHistory.of(layers))
    assert fitness.regularisation == head.regularisation_used
    assert encoder.samples == 0


def test_the_classifier_sees_the_readout_and_the_history_the_cls_of_every_layer(layers: np.ndarray) -> None:
    means = np.random.default_rng(1).standard_normal((12, 1, DIM)).astype(np.float32)
    read = np.concatenate([layers, means], axis=1)
    groups = Readout("groups", DIM, (Token((DEPTH - 1,), 0.75, centred=False), Token((DEPTH,), 0.25)))
    projection = RandomProjection.draw(groups.features, 32, "relu", 0, groups.blocks(32))
    history = ActivationHistory.of(layers + 1)
    found = Fitness.on(read, LABELS, groups, projection, 0.5, history)
    assert np.allclose(found.rows(read), projection(groups(read).astype(np.float64)))
    drift = ActivationHistory.of(layers).discrepancy(history)
    assert found(read) == pytest.approx(found.cross_entropy(read).mean() + 0.3 * drift / 12, rel=1e-5)
    bare = Fitness.on(read, LABELS, groups, None, 0.5, history)  # a head without a projection
    assert np.array_equal(bare.rows(read), groups(read).astype(np.float64))


def test_history_moves_by_its_rate(layers: np.ndarray) -> None:
    one, other = ActivationHistory.of(layers), ActivationHistory.of(layers + 1)
    moved = one.updated(other, 0.1)
    assert np.allclose(moved.mean, 0.1 * other.mean + 0.9 * one.mean)
    assert np.allclose(moved.deviation, one.deviation, atol=1e-6)
    assert one.discrepancy(one) == 0.0
    assert one.discrepancy(other) == pytest.approx(DEPTH * np.sqrt(DIM), rel=1e-5)


def test_running_statistics_equal_those_of_all_batches(layers: np.ndarray) -> None:
    running = RunningActivations()
    for part in np.split(layers, 4):
        running.add(part)
    whole = ActivationHistory.of(layers)
    assert np.allclose(running.result().mean, whole.mean, atol=1e-6)
    assert np.allclose(running.result().deviation, whole.deviation, atol=1e-6)


def test_few_shot_entropy_sees_how_classes_are_told_apart_whatever_the_scale() -> None:
    classes = np.repeat(np.arange(4), 10)
    noise = np.random.default_rng(0).standard_normal((40, 6))

    def entropy(distance: float, scale: float = 1.0) -> np.ndarray:
        rows = scale * (noise + distance * np.eye(6)[classes])
        return few_shot_entropy(rows @ rows.T, classes)

    means = [entropy(distance).mean() for distance in (0.0, 2.0, 4.0, 8.0)]
    assert means == sorted(means, reverse=True)
    assert means[0] > np.log(4) > 10 * means[-1]  # guessing; nearly no error
    assert np.allclose(entropy(2.0, scale=30.0), entropy(2.0))


def test_few_shot_entropy_of_classes_with_an_image_or_two() -> None:
    rows = np.random.default_rng(1).standard_normal((6, 5))
    values = few_shot_entropy(rows @ rows.T, np.array([0, 1, 1, 2, 2, 2]))
    assert np.isfinite(values).all()
    assert (values > 0).all()
