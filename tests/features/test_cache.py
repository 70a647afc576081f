"""The feature cache gives back what was extracted, and keeps to its limit."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from foro.backbones import Backbone
from foro.features.cache import FeatureCache
from foro.features.candidate import NEUTRAL, Candidate
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.images.samples import Samples
from foro.images.task_images import TaskImages
from foro.research.methods.cached_learner import CachedExtractor
from tests.conftest import textures


def samples(seed: int = 0) -> Samples:
    images, labels = textures(5, seed=seed)
    return Samples(images, [*labels])


def test_extracts_each_image_once(tiny_backbone: Backbone, tmp_path: Path) -> None:
    data, cache = samples(), FeatureCache(tmp_path)
    expected = np.concatenate(list(Extractor(tiny_backbone).layers(data.images)))
    for positions, served in (([3, 1, 4], 0), ([1, 5, 9], 1), (list(range(20)), 5)):
        before = cache.served
        extractor = CachedExtractor(tiny_backbone, cache)
        found = np.concatenate(list(extractor.layers(TaskImages(data, np.array(positions)))))
        assert found.shape == (len(positions), tiny_backbone.outputs, tiny_backbone.dim)
        assert np.allclose(found, expected[positions], atol=1e-4)
        assert cache.served - before == served
        assert extractor.forward_passes == len(positions)
    again = FeatureCache(tmp_path)  # another process
    list(CachedExtractor(tiny_backbone, again).layers(TaskImages(data, np.arange(20))))
    assert again.served == 20


def test_every_readout_is_served_by_one_pass(tiny_backbone: Backbone, tmp_path: Path) -> None:
    data, cache = samples(), FeatureCache(tmp_path)
    extractor = CachedExtractor(tiny_backbone, cache)
    for number, name in enumerate(("groups", "cls", "cls3")):
        readout = Readout.of(name, tiny_backbone)
        (found,) = extractor.features(TaskImages(data, np.arange(20)), readout)
        (expected,) = Extractor(tiny_backbone).features(data.images, readout)
        assert np.allclose(found, expected, atol=1e-4)
        assert cache.served == 20 * number


def test_a_candidate_and_other_data_have_their_own_shelf(tiny_backbone: Backbone, tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    prompt, gains = np.ones((2, 32), np.float32), np.ones((3, 3), np.float32)
    shelves = [
        cache.shelf(tiny_backbone, samples(), NEUTRAL),
        cache.shelf(tiny_backbone, samples(), Candidate(prompt)),
        cache.shelf(tiny_backbone, samples(), Candidate(2 * prompt)),
        cache.shelf(tiny_backbone, samples(), Candidate(None, gains)),
        cache.shelf(tiny_backbone, samples(), Candidate(prompt, gains)),
        cache.shelf(tiny_backbone, samples(seed=1), NEUTRAL),
    ]
    assert len({shelf.folder for shelf in shelves}) == 6
    assert cache.shelf(tiny_backbone, samples(), Candidate(prompt.copy())) is shelves[1]
    assert cache.shelf(tiny_backbone, samples(), Candidate()) is shelves[0]


def test_features_with_gains_come_from_their_shelf(tiny_backbone: Backbone, tmp_path: Path) -> None:
    data, cache = samples(), FeatureCache(tmp_path)
    candidate = Candidate(None, np.full((3, 3), 0.2, np.float32))
    extractor, images = CachedExtractor(tiny_backbone, cache), TaskImages(data, np.arange(20))
    (plain,), (first,), (second,) = extractor.layers(images), *(extractor.layers(images, candidate) for _ in range(2))
    (expected,) = Extractor(tiny_backbone).layers(data.images, candidate)
    assert cache.served == 20
    assert np.array_equal(first, second)
    assert np.allclose(first, expected, atol=1e-4)
    assert not np.allclose(first, plain, atol=1e-2)


def test_a_damaged_chunk_is_computed_again(tiny_backbone: Backbone, tmp_path: Path) -> None:
    data = samples()
    images = TaskImages(data, np.arange(20))
    expected = np.concatenate(list(CachedExtractor(tiny_backbone, FeatureCache(tmp_path)).layers(images)))
    (chunk,) = tmp_path.glob("*/*.safetensors")
    chunk.write_bytes(chunk.read_bytes()[:100])
    cache = FeatureCache(tmp_path)
    found = np.concatenate(list(CachedExtractor(tiny_backbone, cache).layers(images)))
    assert cache.served == 0
    assert np.array_equal(found, expected)


def test_the_shelf_unused_for_longest_makes_room(tiny_backbone: Backbone, tmp_path: Path) -> None:
    shelves = []
    for seed in range(3):
        cache = FeatureCache(tmp_path, most_bytes=2 * (20 * 4 * 32 * 4 + 600))  # room for two
        data = samples(seed)
        shelves.append(cache.shelf(tiny_backbone, data, NEUTRAL).folder)
        list(CachedExtractor(tiny_backbone, cache).layers(TaskImages(data, np.arange(20))))
        os.utime(shelves[-1], (seed, seed))
    assert [folder.exists() for folder in shelves] == [False, True, True]


def test_task_images_are_a_sequence_of_the_images() -> None:
    data = samples()
    images = TaskImages(data, np.array([4, 2, 0]))
    assert len(images) == 3
    assert images[1] is data.images[2]
    assert images.labels == [data.labels[4], data.labels[2], data.labels[0]]
    assert images[1:].labels == images.labels[1:]
