"""Whatever the number of workers and shards, what is learned is what a single process learns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from foro import Learner
from foro.backbones import Backbone, load_backbone
from foro.cluster import RayEngine
from foro.cluster.ray_extractor import RayExtractor
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.images.digests import Digests
from foro.images.load import Images
from foro.images.preprocessing import Preprocessing
from tests.cluster.conftest import assert_same
from tests.conftest import textures

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]

SETTINGS = {"projection_dim": 96, "policy": "none"}
IMAGES, LABELS = textures(120, classes=5)
MOST_WORKERS = 3


class Kept:
    """An engine whose workers live on, so that starting them is paid once; only the size of its shards changes."""

    def __init__(self, extractor: RayExtractor, shard_images: int | None) -> None:
        self._extractor, self._shard_images = extractor, shard_images

    @contextmanager
    def open(self, learner: Learner) -> Iterator[RayExtractor]:
        self._extractor._shard_images = self._shard_images
        yield self._extractor

    def digests(self, images: Images, preprocessing: Preprocessing) -> Digests:
        return RayEngine(shard_images=self._shard_images).digests(images, preprocessing)


@pytest.fixture(scope="module")
def backbone(tiny_folder: Path) -> Backbone:
    return load_backbone(tiny_folder, threads=1)


@pytest.fixture(scope="module")
def pools(ray: Any, backbone: Backbone) -> Iterator[dict[int, RayExtractor]]:
    """Pools of one, two and three workers."""
    with ExitStack() as stack:
        engines = {count: RayEngine(workers=count) for count in range(1, MOST_WORKERS + 1)}
        learner = Learner(backbone, **SETTINGS)
        yield {count: stack.enter_context(engine.open(learner)) for count, engine in engines.items()}


tasks = st.lists(
    st.tuples(
        st.integers(1, len(IMAGES)),  # how many images
        st.integers(0, 1000),  # a seed for which ones, some more than once
        st.integers(1, MOST_WORKERS),
        st.sampled_from([None, 64, 128, 256]),
        st.booleans(),  # labels are text or numbers
    ),
    min_size=1,
    max_size=2,
)


@given(tasks)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_any_workers_and_shards_learn_what_one_process_learns(
    pools: dict[int, RayExtractor],
    backbone: Backbone,
    stream: list[tuple[int, int, int, int | None, bool]],
) -> None:
    local, shared = Learner(backbone, **SETTINGS), Learner(backbone, **SETTINGS)
    for count, seed, workers, shard_images, text in stream:
        positions = np.random.default_rng(seed).integers(len(IMAGES), size=count)
        images = [IMAGES[position] for position in positions]
        labels = [LABELS[position] if text else int(LABELS[position][-1]) for position in positions]
        shared.engine = Kept(pools[workers], shard_images)
        mine, theirs = shared.learn(images, labels), local.learn(images, labels)
        assert (mine.samples, mine.new_labels) == (theirs.samples, theirs.new_labels)
    assert_same(shared.head, local.head)
    assert sorted(shared.known.images, key=repr) == sorted(local.known.images, key=repr)
    assert shared.predict(IMAGES) == local.predict(IMAGES)


def test_files_are_read_by_the_workers_and_features_stay_there(
    pools: dict[int, RayExtractor], backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, image in enumerate(IMAGES[:150]):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    monkeypatch.chdir(tmp_path)
    paths = [f"{number}.png" for number in range(150)]  # relative to where the learner is
    local, shared = Learner(backbone, **SETTINGS), Learner(backbone, **SETTINGS)
    shared.engine = Kept(pools[2], 64)
    local.learn(paths, LABELS[:150])
    monkeypatch.setattr("foro.images.load.load_crop", _refuse)
    monkeypatch.setattr("foro.images.load.pixel_batches", _refuse)
    monkeypatch.setattr(backbone, "embed", _refuse)
    shared.learn(paths, LABELS[:150])
    monkeypatch.undo()
    assert_same(shared.head, local.head)


def _refuse(*_: object) -> None:
    raise AssertionError("the driver decoded an image")


@pytest.mark.parametrize("gains", [None, np.full((3, 3), 0.2, np.float32)], ids=["neutral", "gains"])
def test_features_that_are_asked_for_come_in_order(
    pools: dict[int, RayExtractor], backbone: Backbone, gains: np.ndarray | None
) -> None:
    candidate = Candidate(None, gains)
    expected = np.concatenate(list(Extractor(backbone).layers(IMAGES[:150], candidate)))
    pools[2].forward_passes = 0
    assert np.array_equal(np.concatenate(list(pools[2].layers(IMAGES[:150], candidate))), expected)
    assert pools[2].forward_passes == 150
