"""A learner's confidence survives everything that its knowledge survives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foro import Learner
from foro.backbones import Backbone
from tests.conftest import textures

SMALL = {"policy": "none", "projection_dim": 96}


@pytest.fixture
def learner(tiny_backbone: Backbone) -> Learner:
    learner = Learner(tiny_backbone, **SMALL)
    learner.learn(*textures(12))
    return learner


def test_probabilities_follow_scores_and_add_up(learner: Learner) -> None:
    images, labels = textures(6, seed=1)
    found = learner.probabilities(images)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.array_equal(found.argmax(axis=1), learner.scores(images).argmax(axis=1))
    right = np.array(learner.predict(images)) == labels
    assert found.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.2)
    assert learner.probabilities([]).shape == (0, 4)


def test_estimate_has_every_class(learner: Learner) -> None:
    estimate = learner.estimate()
    assert estimate.accuracy is not None
    assert estimate.accuracy > 0.7
    assert estimate.classes.keys() == set(learner.labels)
    assert [samples for samples, _ in estimate.classes.values()] == [12] * 4
    assert estimate.samples == 48


def test_saved_and_loaded(learner: Learner, tiny_backbone: Backbone, tmp_path: Path) -> None:
    images, _ = textures(3, seed=2)
    before = learner.probabilities(images)
    learner.save(tmp_path / "model")
    again = Learner.load(tmp_path / "model", tiny_backbone)
    assert np.array_equal(again.probabilities(images), before)
    assert again.estimate() == learner.estimate()
    assert np.array_equal(again.snapshot().probabilities(images), before)


def test_merged_in_any_order_and_unlearned(learner: Learner, tiny_backbone: Backbone) -> None:
    more, names = textures(8, classes=6, seed=3)
    asked, _ = textures(3, classes=6, seed=4)
    other = learner.blank()
    other.learn(more, names)
    whole = Learner(tiny_backbone, **SMALL)
    images, labels = textures(12)
    whole.learn(more, names)
    whole.learn(images, labels)
    before = learner.probabilities(asked)
    learner.merge(other)
    columns = [whole.labels.index(label) for label in learner.labels]
    assert np.allclose(learner.probabilities(asked), whole.probabilities(asked)[:, columns], atol=1e-3)
    learner.unlearn(more, names)
    assert np.allclose(learner.probabilities(asked), before, atol=1e-3)


def test_a_forgotten_label_comes_back(learner: Learner) -> None:
    images, _ = textures(3, seed=5)
    before = learner.probabilities(images)
    columns = learner.labels
    learner.forget("texture 2")
    assert learner.probabilities(images).shape[1] == 3
    assert "texture 2" not in learner.estimate().classes
    learner.restore("texture 2")
    order = [learner.labels.index(label) for label in columns]
    assert np.allclose(learner.probabilities(images)[:, order], before, atol=1e-9)


def test_one_label_is_certain(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, **SMALL)
    images, _ = textures(3)
    learner.learn(images, ["only"] * len(images))
    assert learner.probabilities(images[:2]).tolist() == [[1.0], [1.0]]


def test_no_batch_and_no_cut_changes_them(learner: Learner, tiny_backbone: Backbone) -> None:
    images, labels = textures(12)
    asked, _ = textures(3, seed=6)
    parts = Learner(tiny_backbone, **SMALL)
    for start in range(0, len(images), 7):
        parts.learn(images[start : start + 7], labels[start : start + 7])
    columns = [parts.labels.index(label) for label in learner.labels]
    whole = learner.probabilities(asked)
    assert np.allclose(parts.probabilities(asked)[:, columns], whole, atol=1e-3)
    assert np.allclose(np.concatenate([learner.probabilities([image]) for image in asked]), whole, atol=1e-4)
