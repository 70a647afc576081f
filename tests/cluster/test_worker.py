"""What one worker does, in this process, without Ray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foro
from foro import Learner
from foro.adaptation.activation_history import ActivationHistory
from foro.adaptation.evolution import Space
from foro.adaptation.fitness import Fitness
from foro.backbones import load_checkpoint
from foro.cluster.shards import Shards, _check, _decode, unpack
from foro.cluster.worker import Worker, WorkerSettings
from foro.errors import EngineError, InputError
from foro.features.candidate import NEUTRAL
from foro.features.extractor import Extractor
from foro.features.sample import LocalSample
from tests.cluster.conftest import assert_same
from tests.conftest import textures

pytestmark = pytest.mark.ray  # for its pyarrow

SETTINGS = {"projection_dim": 64, "policy": "none"}
IMAGES, LABELS = textures(40)
NAMES = sorted(set(LABELS))


@pytest.fixture
def learner(tiny_folder: Path) -> Learner:
    return Learner(tiny_folder, **SETTINGS)


@pytest.fixture
def worker(learner: Learner, tiny_folder: Path) -> Worker:
    return started(learner, tiny_folder)


def started(learner: Learner, folder: Path) -> Worker:
    worker = Worker()
    settings = WorkerSettings(foro.__version__, False, 1, learner.backbone.image_size, "float32")
    worker.start(load_checkpoint(folder), settings, learner.head.blank(), learner.readout)
    worker.aim(NAMES, NEUTRAL)
    return worker


def blocks(images: list[Any], size: int = 64) -> list[Any]:
    import pyarrow

    shards = Shards(images, [NAMES.index(label) for label in LABELS[: len(images)]], size)
    return [pyarrow.table({"shard": [each], "content": [shards.pack(each)]}) for each in range(len(shards))]


def decoded(learner: Learner, images: list[Any]) -> list[Any]:
    return [_decode(block, learner.backbone.preprocessing) for block in blocks(images)]


def test_shards_are_absorbed_handed_over_and_taken_over(learner: Learner, worker: Worker, tiny_folder: Path) -> None:
    other = started(learner, tiny_folder)
    first, *rest = decoded(learner, IMAGES)
    assert (worker.absorb(first).shard, worker.absorb(first).images) == (0, 64)
    worker.hand_over()  # and with it what was absorbed twice
    assert worker.absorb(first).bad is None
    for block in rest:
        assert other.absorb(block).shard > 0
    handed = other.hand_over()
    assert handed.projection is None
    worker.take_over(handed)
    total = worker.hand_over()
    total.projection = learner.head.projection
    assert worker.hand_over().samples == 0
    local = Learner(tiny_folder, **SETTINGS)
    local.learn(IMAGES, LABELS)
    learner.head.merge(total, local.labels)
    assert_same(learner.head, local.head)


def test_a_shard_with_a_bad_image_is_not_absorbed(learner: Learner, worker: Worker) -> None:
    images = [*IMAGES[:70], "nowhere.png", *IMAGES[71:140]]
    good, bad, _ = decoded(learner, images)
    assert unpack(good).crops.shape == (64, 32, 32, 3)
    said = worker.absorb(bad)
    assert (said.shard, said.images, said.bad) == (1, 0, "there is no image nowhere.png")
    assert worker.hand_over().samples == 0
    with pytest.raises(InputError, match=r"there is no image nowhere\.png"):
        worker.layers(bad, NEUTRAL)
    with pytest.raises(InputError, match=r"there is no image nowhere\.png"):
        worker.hold(good, bad)
    (row,) = _check(blocks(images)[1]).to_pylist()
    assert row == {"shard": 1, "places": [6], "reasons": ["there is no image nowhere.png"]}


@pytest.mark.parametrize("kind", ["prompt", "gains", "both"])
def test_a_sample_is_judged_as_it_would_be_here(learner: Learner, worker: Worker, kind: str) -> None:
    sample = Extractor(learner.backbone).sample(IMAGES)
    assert isinstance(sample, LocalSample)
    neutral = sample.layers(NEUTRAL)
    history = ActivationHistory.of(neutral[:, : learner.backbone.depth])
    positions = np.arange(0, len(IMAGES), 2)
    names = [LABELS[i] for i in positions]
    some = Fitness.on(neutral[positions], names, learner.readout, learner.head.projection, "auto", history)
    space = Space(32, 3, prompt_tokens=0 if kind == "gains" else 2, gains=kind != "prompt")
    vectors = np.random.default_rng(0).standard_normal((3, space.size)).astype(np.float32)
    candidates = [space.candidate(0.3 * each) for each in vectors]
    worker.hold(*reversed(decoded(learner, IMAGES)))  # in any order
    worker.compare_on(positions, some)
    assert np.array_equal(worker.sample_layers(NEUTRAL), neutral)
    assert np.array_equal(worker.sample_layers(candidates[1]), sample.layers(candidates[1]))
    assert [worker.judge(each) for each in candidates] == sample.judge(some, positions)(candidates)
    shard, layers = worker.layers(decoded(learner, IMAGES)[1], candidates[0])
    assert shard == 1
    assert np.array_equal(layers, sample.layers(candidates[0])[64:128])


def test_a_worker_of_another_version_is_refused(learner: Learner, tiny_folder: Path) -> None:
    settings = WorkerSettings("0.0", False, 1, 32, "float32")
    with pytest.raises(EngineError, match=r"but 0\.0 here"):
        Worker().start(load_checkpoint(tiny_folder), settings, learner.head, learner.readout)
