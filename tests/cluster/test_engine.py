"""The engine: its settings, what it refuses, where the backbone runs, and the candidate that it finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foro.cluster.ray_engine
from foro import Learner
from foro.adaptation.search import Verdict
from foro.backbones import load_backbone
from foro.cluster import RayEngine
from foro.cluster.pool import Pool
from foro.cluster.shards import SHARD, shard_size
from foro.engine import find_engine
from foro.errors import EngineError, InputError
from foro.features.extractor import BATCH
from tests.cluster.conftest import assert_same
from tests.conftest import textures

SETTINGS = {"projection_dim": 64, "policy": "none"}
QUICK = {"projection_dim": 64, "generations": 3, "population": 5, "search_images": 48, "search_price": 10.0}
IMAGES, LABELS = textures(40)

on_ray = pytest.mark.xdist_group("ray")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"workers": 0}, "workers must be a whole number of at least 1, not 0"),
        ({"workers": 1.5}, "workers must be a whole number"),
        ({"gpus_per_worker": -1}, "gpus_per_worker must be 0 or a positive number"),
        ({"gpus_per_worker": "one"}, "gpus_per_worker must be 0 or a positive number"),
        ({"shard_images": BATCH + 1}, f"shard_images must be a multiple of {BATCH}, not {BATCH + 1}"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        RayEngine(**settings)


def test_engines_have_names(tiny_folder: Path, tmp_path: Path) -> None:
    assert find_engine("local") is None
    assert find_engine("ray") == RayEngine()
    assert find_engine("ray", address=None, workers=3) == RayEngine(workers=3)
    engine = RayEngine(workers=2)
    assert find_engine(engine) is engine
    assert Learner(tiny_folder).engine is None
    with pytest.raises(InputError, match="the engine must be local, ray or a RayEngine, not 'dask'"):
        find_engine("dask")
    with pytest.raises(InputError, match="workers can be set for the engine ray only"):
        find_engine("local", workers=2)
    Learner(tiny_folder, engine="ray", **SETTINGS).save(tmp_path / "model")
    assert Learner.load(tmp_path / "model").engine is None  # it is not stored
    assert Learner.load(tmp_path / "model", engine=engine).engine is engine


def test_shards_are_whole_batches_and_enough_for_all() -> None:
    every = 4 * 2 * BATCH  # images of which each of two workers gets four shards of one batch
    sizes = [1, BATCH, every, every + 1, 2 * every, 4 * every]
    assert [shard_size(images, 2) for images in sizes] == [batches * BATCH for batches in (1, 1, 1, 2, 2, 4)]
    assert shard_size(10**8, 2) == SHARD == SHARD // BATCH * BATCH


def test_without_ray_a_sentence_tells_how_to_get_it(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner(tiny_folder, engine="ray", **SETTINGS)  # which needs nothing yet
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r'needs the ray extra: pip install "foro\[ray\]"'):
        learner.learn(IMAGES, LABELS)


@pytest.mark.ray
@on_ray
def test_a_cluster_that_is_not_there_is_told_within_seconds() -> None:
    code = "from foro.cluster.connection import connect; connect('127.0.0.1:1')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    said = "EngineError: the Ray cluster at 127.0.0.1:1 cannot be reached: "
    assert said in ended.stderr.splitlines()[-1]
    assert "Connection refused" in ended.stderr


@pytest.mark.ray
@on_ray
def test_what_cannot_be_done_on_this_cluster_is_said_at_once(ray: Any, tiny_folder: Path) -> None:
    learner = Learner(tiny_folder, engine=RayEngine(workers=2, gpus_per_worker=1), **SETTINGS)
    with pytest.raises(EngineError, match="the cluster has 1 GPUs, too few for 2 workers with 1 each"):
        learner.learn(IMAGES, LABELS)
    online = Learner(tiny_folder, "paper", projection_dim=64, engine="ray")
    with pytest.raises(InputError, match="online learning takes one batch after another"):
        online.learn(IMAGES, LABELS)
    learner.engine = RayEngine(workers=1)
    foreign = {"fingerprint": "0" * 64, "name": "mine", "preprocessing": learner.backbone.preprocessing}
    learner.backbone = type("Foreign", (), foreign)()
    with pytest.raises(EngineError, match="mine cannot be sent to workers: give it by its name or folder"):
        learner.learn(IMAGES, LABELS)


@pytest.mark.ray
@on_ray
def test_workers_share_the_processors_of_the_cluster(ray: Any) -> None:
    assert RayEngine().share() == (2, 1)
    assert RayEngine(workers=1).share() == (1, 2)
    assert RayEngine(gpus_per_worker=0.25).share() == (4, 1)


@pytest.mark.ray
@on_ray
def test_another_version_on_a_worker_is_refused(ray: Any, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foro.cluster.ray_engine.foro, "__version__", "9.9")
    with pytest.raises(EngineError, match=r"foro is .* on .*, but 9\.9 here"):
        Learner(tiny_folder, engine=RayEngine(workers=1), **SETTINGS).learn(IMAGES, LABELS)


@pytest.mark.ray
@on_ray
@pytest.mark.parametrize(
    ("policy", "adaptation"), [("freeze", "prompt"), ("freeze", "gains"), ("evolve", "gains"), ("evolve", "both")]
)
def test_the_same_candidate_is_found_and_the_same_is_learned(
    ray: Any, tiny_folder: Path, policy: str, adaptation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Verdict, "kept", property(lambda _: True))
    sent: list[str] = []
    usual = Pool.broadcast
    monkeypatch.setattr(Pool, "broadcast", lambda self, name, call: (sent.append(name), usual(self, name, call)))
    settings = {**QUICK, "policy": policy, "adaptation": adaptation}
    local = Learner(tiny_folder, **settings)
    shared = Learner(tiny_folder, engine=RayEngine(workers=2), **settings)
    expected = local.learn(IMAGES, LABELS, held_out=0.1)
    report = shared.learn(IMAGES, LABELS, held_out=0.1)
    assert sent == ["hold", "compare_on", "aim"]  # the sample travels once, not once a generation
    assert set(shared.candidate.arrays()) == ({"prompt", "gains"} if adaptation == "both" else {adaptation})
    assert shared.candidate.same_as(local.candidate)
    one, other = shared.adaptation, local.adaptation
    assert np.array_equal(one.distribution.mean, other.distribution.mean)
    assert np.allclose(one.history.mean, other.history.mean, rtol=1e-6)
    assert_same(shared.head, local.head)
    assert shared.blank().engine is shared.engine
    for name in ("samples", "generations", "forward_passes", "held_out", "accuracy_after", "adaptation"):
        assert getattr(report, name) == getattr(expected, name)


@pytest.mark.ray
@pytest.mark.torch
@on_ray
def test_with_gpus_workers_run_torch(ray: Any, tiny_folder: Path) -> None:
    shared = Learner(tiny_folder, engine=RayEngine(workers=1, gpus_per_worker=0.5), **SETTINGS)
    shared.learn(IMAGES, LABELS)
    local = Learner(load_backbone(tiny_folder, runtime="torch", threads=1), **SETTINGS)
    local.learn(IMAGES, LABELS)
    assert_same(shared.head, local.head)


@pytest.mark.ray
@on_ray
def test_quantised_weights_stay_quantised(ray: Any, tiny_folder: Path) -> None:
    backbone = load_backbone(tiny_folder, precision="int8", threads=1)
    local, shared = (Learner(backbone, engine=engine, **SETTINGS) for engine in ("local", RayEngine(workers=1)))
    local.learn(IMAGES, LABELS)
    shared.learn(IMAGES, LABELS)
    assert_same(shared.head, local.head)


@pytest.mark.ray
@on_ray
def test_every_head_can_be_shared_out(ray: Any, tiny_folder: Path) -> None:
    settings = {**SETTINGS, "head": "nearest-mean"}
    local, shared = (Learner(tiny_folder, engine=engine, **settings) for engine in ("local", RayEngine(workers=2)))
    for each in (local, shared):
        each.learn(IMAGES, LABELS)
    assert (shared.labels, shared.head.counts) == (local.labels, local.head.counts)
    assert np.allclose(shared.head.weights, local.head.weights, rtol=1e-10, atol=1e-12)
