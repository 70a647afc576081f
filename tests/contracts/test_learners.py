"""What every learner must keep, whatever its method."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foro import Learner
from foro.adaptation.search import Verdict
from foro.backbones import Backbone
from foro.heads.ridge import KnowledgeEncoder
from tests.conftest import textures

SMALL = {
    "projection_dim": 96,
    "generations": 3,
    "population": 4,
    "search_images": 32,
    "search_price": 10.0,
    "online_batch": 8,
}
METHODS = {
    "kem": {"policy": "none"},
    "foro": {"policy": "freeze", "adaptation": "gains"},
    "foro-both": {"policy": "freeze", "adaptation": "both"},
    "foro-evolve": {"policy": "evolve", "adaptation": "gains"},
    "foro-paper": {"preset": "paper"},
    "linear": {"policy": "none", "projection_dim": None, "regularisation": 0.1},
    "deep": {"policy": "none", "readout": "cls2"},
    "nearest-mean": {"policy": "none", "head": "nearest-mean"},
}
EXACT = ["kem", "linear", "deep", "nearest-mean"]
"""Those that learn the same however a task is cut: the others adapt to what they are given first."""

Build = Callable[..., Learner]


@pytest.fixture
def build(tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> Build:
    monkeypatch.setattr(Verdict, "kept", property(lambda _: True))  # so that frozen candidates are tested, too
    return lambda method, **more: Learner(tiny_backbone, **{**SMALL, **METHODS[method], **more})


def taught(learner: Learner) -> Learner:
    images, labels = textures(16)
    learner.learn(images, labels)
    return learner


@pytest.mark.parametrize("method", METHODS)
def test_learns(build: Build, method: str) -> None:
    learner = taught(build(method))
    images, labels = textures(10, seed=1)
    # In the unprojected features of a random ViT, means tell less apart than a fitted classifier; chance is 0.25.
    least = 0.5 if method == "nearest-mean" else 0.8
    assert np.mean(np.array(learner.predict(images)) == labels) > least


@pytest.mark.parametrize("method", METHODS)
def test_new_labels_may_come_at_any_time_and_old_ones_again(build: Build, method: str) -> None:
    learner = build(method)
    images, labels = textures(16, classes=5)
    first = [i for i, label in enumerate(labels) if label != "texture 4"]
    learner.learn([images[i] for i in first], [labels[i] for i in first])
    assert learner.labels == [f"texture {number}" for number in range(4)] or method == "foro-paper"
    learner.learn(images[:20], labels[:20], again=True)
    assert set(learner.labels) == set(labels)
    assert sum(learner.head.counts.values()) == len(first) + 20


@pytest.mark.parametrize("method", METHODS)
def test_predictions_do_not_depend_on_the_batch(build: Build, method: str) -> None:
    learner = taught(build(method))
    images, _ = textures(5, seed=2)
    together = learner.scores(images)
    alone = np.concatenate([learner.scores([image]) for image in images])
    backwards = learner.scores(images[::-1])[::-1]
    assert np.allclose(alone, together, rtol=1e-4, atol=1e-5)
    assert np.allclose(backwards, together, rtol=1e-4, atol=1e-5)
    assert np.array_equal(alone.argmax(1), together.argmax(1))


@pytest.mark.parametrize("method", METHODS)
def test_predicting_changes_nothing(build: Build, method: str) -> None:
    learner = taught(build(method))
    images, _ = textures(3, seed=3)
    before = learner.scores(images)
    learner.predict(images)
    learner.top(images, 2)
    assert np.array_equal(learner.scores(images), before)


@pytest.mark.parametrize("method", METHODS)
def test_saving_and_loading_changes_nothing(build: Build, method: str, tmp_path: Path, tiny_backbone: Backbone) -> None:
    learner = taught(build(method))
    images, labels = textures(4, classes=6, seed=4)
    learner.save(tmp_path / "model")
    restored = Learner.load(tmp_path / "model", tiny_backbone)
    assert restored.labels == learner.labels
    assert restored.config == learner.config
    assert np.array_equal(restored.scores(images), learner.scores(images))
    for each in (learner, restored):
        each.learn(images, labels)
    assert np.allclose(restored.scores(images), learner.scores(images), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_repeats_and_another_differs(build: Build, method: str) -> None:
    images, _ = textures(2, seed=5)
    one, same, other = (taught(build(method, seed=seed)).scores(images) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert np.array_equal(one, other) == (method in ("linear", "nearest-mean"))


@pytest.mark.parametrize("method", METHODS)
def test_the_callers_images_are_not_touched(build: Build, method: str) -> None:
    images, labels = textures(16)
    copies = [image.copy() for image in images]
    build(method).learn(images, labels)
    assert all(np.array_equal(image, copy) for image, copy in zip(images, copies, strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_a_failed_learn_leaves_the_learner_as_it_was(build: Build, method: str, tmp_path: Path) -> None:
    learner = taught(build(method))
    images, labels = textures(10, seed=6)
    before, candidate = learner.scores(images), learner.candidate
    with pytest.raises(ValueError, match="there is no image"):
        learner.learn([*images, tmp_path / "gone.png"], [*labels, "new"])
    assert np.array_equal(learner.scores(images), before)
    assert learner.candidate is candidate
    assert "new" not in learner.labels


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("passes", [1, 2, 5])
def test_an_interrupted_learn_leaves_the_learner_as_it_was(
    build: Build, method: str, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = build(method)
    images, labels = textures(40)
    learner.learn(images[:80], labels[:80])
    before = learner.scores(images[:8])
    forward, calls = type(learner.backbone).forward, []

    def interrupting(self: Backbone, *arguments: object) -> object:
        calls.append(arguments)
        if len(calls) >= passes:
            raise KeyboardInterrupt
        return forward(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(type(learner.backbone), "forward", interrupting)
        interrupted = False
        try:
            learner.learn(images[80:] + images, labels[80:] + labels)
        except KeyboardInterrupt:
            interrupted = True
    assert interrupted == (len(calls) >= passes)
    if interrupted:
        assert np.array_equal(learner.scores(images[:8]), before)
        assert learner.head.samples == 80


@pytest.mark.parametrize("method", EXACT)
@given(cuts=st.lists(st.integers(1, 39), max_size=5), order=st.permutations(range(40)))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_how_a_task_is_cut_does_not_change_what_is_learned(
    build: Build, method: str, cuts: list[int], order: list[int]
) -> None:
    images, labels = textures(10)
    whole = build(method)
    whole.learn(images, labels)
    parts = build(method)
    edges = [0, *sorted(set(cuts)), 40]
    for start, end in pairwise(edges):
        chosen = order[start:end]
        parts.learn([images[i] for i in chosen], [labels[i] for i in chosen])
    columns = [parts.labels.index(label) for label in whole.labels]
    # The backbone computes in single precision, and differs in its last digits between batch sizes.
    assert np.allclose(parts.scores(images)[:, columns], whole.scores(images), rtol=1e-3, atol=1e-4)
    if isinstance(whole.head, KnowledgeEncoder):
        assert parts.head.regularisation_used == whole.head.regularisation_used


@pytest.mark.parametrize("method", METHODS)
def test_memory_does_not_grow_with_the_number_of_samples(build: Build, method: str) -> None:
    learner = taught(build(method))
    images, labels = textures(40)

    def held_after(lessons: int) -> int:
        for _ in range(lessons):
            learner.learn(images, labels, again=True)
        learner.predict(images[:1])
        gc.collect()
        sys._clear_type_cache()  # it keeps names of attributes, more of them after every look-up from C
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        early = held_after(4)
        late = held_after(4)
    finally:
        tracemalloc.stop()
    assert late - early < 24 * 1024  # of 640 images: their digests take 13 KB, their bare features would take 80 KB
