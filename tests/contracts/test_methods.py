"""What every method of the experiments must keep: enumerated from the registry, so that a new one is tested at once."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foro.backbones import Backbone, load_backbone
from foro.errors import FoRoError, InputError, ModelFileError
from foro.research.baselines.baseline import Baseline
from foro.research.methods.method import Method
from foro.research.protocol.method_catalog import find_method, list_methods, overrides_for
from foro.util.tensors import read_tensors
from tests.backbones.reference import tiny_checkpoint
from tests.conftest import textures

QUICK = {
    "projection_dim": 64,
    "generations": 2,
    "population": 4,
    "search_images": 32,
    "online_batch": 8,
    "epochs": 6,
    "warmup_epochs": 1,
    "batch_size": 16,
    "optimiser": "adamw",
    "learning_rate": 3e-3,
    "crop_area": 1.0,
    "flip": False,
    "generator_epochs": 1,
    "generator_size": 8,
    "generator_channels": "8",
    "generator_layers": 1,
    "sampling_steps": 2,
    "replay_per_class": 2,
}
"""Of these, every method takes what it has: a task takes a second."""

OWN = {"l2p": {"learning_rate": 0.03}}
"""What a method needs to learn in so few steps."""

NAMES = [pytest.param(method.name, marks=pytest.mark.torch if method.needs else ()) for method in list_methods()]
every_method = pytest.mark.parametrize("name", NAMES)


def build(name: str, backbone: Backbone, seed: int = 0, **more: Any) -> Method:
    method = find_method(name)
    return method.build(backbone, method.resolve({**overrides_for(name, QUICK), **OWN.get(name, {}), **more}), seed)


def scores(method: Method, images: Any) -> Any:
    """What it predicts from, where a method shows it."""
    source: Any = method if isinstance(method, Baseline) else getattr(method, "learner", method)
    return np.asarray(source.scores(images))


def scored(method: Method) -> list[Any]:
    """Every label that it can predict."""
    source: Any = method if isinstance(method, Baseline) else getattr(method, "learner", method)
    return list(source.labels)


@every_method
def test_is_described_and_has_a_help_text_for_every_setting(name: str) -> None:
    method = find_method(name)
    assert len(method.summary) > 10
    assert method.row
    settings = method.resolve({})
    assert method.fixed.items() <= settings.items()
    if issubclass(method, Baseline):
        assert all(len(each.metadata["help"]) > 5 for each in fields(method.settings_type))
        assert settings["preset"] == "published"
        fast = method.resolve({"preset": "fast"})
        assert {setting for setting in settings if settings[setting] != fast[setting]} == {"preset", *method.fast}


@every_method
def test_refuses_settings_that_it_does_not_have_or_cannot_take(name: str) -> None:
    method = find_method(name)
    for overrides in ({"temprature": 1}, {next(iter(overrides_for(name, QUICK))): "many"}):
        with pytest.raises(InputError):
            method.resolve(overrides)


@every_method
def test_new_labels_may_come_at_any_time_and_old_ones_again(name: str, tiny_backbone: Backbone) -> None:
    method = build(name, tiny_backbone)
    images, labels = textures(10, classes=5)
    kinds = np.array([int(label[-1]) for label in labels])
    for task in ((0, 1), (1, 2, 3), (4, 0)):
        chosen = np.flatnonzero(np.isin(kinds, task))
        cost = method.learn([images[i] for i in chosen], [labels[i] for i in chosen])
        assert cost.forward_passes >= len(chosen)
        assert cost.backward_passes == 0 or method.needs
        predicted = method.predict(images)
        seen = {f"texture {kind}" for kind in range(max(task) + 1)}
        assert set(predicted) <= seen
        assert {labels[i] for i in chosen} <= set(scored(method))
    again = method.predict(images)
    assert again == predicted  # predicting changes nothing


@every_method
def test_predictions_do_not_depend_on_the_batch(name: str, tiny_backbone: Backbone) -> None:
    method = build(name, tiny_backbone)
    learned, labels = textures(8)
    method.learn(learned, labels)
    assert np.mean(np.array(method.predict(learned)) == labels) > 0.5
    images, _ = textures(5, seed=2)
    together = scores(method, images)
    alone = np.concatenate([scores(method, [image]) for image in images])
    assert np.allclose(alone, together, rtol=1e-4, atol=1e-4)
    predicted = method.predict(images)
    assert [method.predict([image])[0] for image in images] == predicted
    assert method.predict(images[::-1])[::-1] == predicted


@every_method
def test_goes_on_after_saving_and_loading_as_the_saved_one(name: str, tiny_backbone: Backbone, tmp_path: Path) -> None:
    method = build(name, tiny_backbone, seed=3)
    method.learn(*textures(8))
    method.save(tmp_path / "model")
    restored = find_method(name).load(tmp_path / "model", tiny_backbone)
    images, labels = textures(6, classes=6, seed=1)
    assert np.allclose(scores(restored, images), scores(method, images), rtol=1e-6, atol=1e-6)
    costs = [each.learn(images, labels).forward_passes for each in (method, restored)]
    assert costs[0] == costs[1]
    assert np.allclose(scores(restored, images), scores(method, images), rtol=1e-5, atol=1e-5)
    assert restored.predict(images) == method.predict(images)


@every_method
def test_a_seed_repeats(name: str, tiny_backbone: Backbone) -> None:
    images, labels = textures(8)
    shown = []
    for _ in range(2):
        method = build(name, tiny_backbone, seed=5)
        method.learn(images[:16], labels[:16])
        method.learn(images[16:], labels[16:])
        shown.append(scores(method, images))
    assert np.array_equal(*shown)


@every_method
def test_the_callers_images_and_labels_are_not_touched(name: str, tiny_backbone: Backbone) -> None:
    images, labels = textures(8)
    copies, names = [image.copy() for image in images], list(labels)
    for image in images:
        image.setflags(write=False)
    method = build(name, tiny_backbone)
    method.learn(images, labels)
    method.predict(images)
    assert all(np.array_equal(image, copy) for image, copy in zip(images, copies, strict=True))
    assert labels == names


@pytest.mark.torch
@pytest.mark.parametrize("name", [method.name for method in list_methods() if issubclass(method, Baseline)])
def test_neither_memory_nor_file_grows_with_the_number_of_samples(
    name: str, tiny_backbone: Backbone, tmp_path: Path
) -> None:
    import torch

    method = build(name, tiny_backbone, **overrides_for(name, {"epochs": 1}))
    images, labels = textures(12)

    def held_after(lessons: int) -> int:
        for _ in range(lessons):
            method.learn(images, labels)
        method.save(tmp_path / "model")
        gc.collect()
        tensors = sum(each.nbytes for each in gc.get_objects() if issubclass(type(each), torch.Tensor))
        return tracemalloc.get_traced_memory()[0] + tensors

    tracemalloc.start()
    try:
        early, small = held_after(4), (tmp_path / "model").stat().st_size
        late, large = held_after(6), (tmp_path / "model").stat().st_size
    finally:
        tracemalloc.stop()
    images_bytes = 6 * sum(image.nbytes for image in images)
    assert late - early < images_bytes / 8
    assert large - small < 64  # the digits of counters


@pytest.mark.torch
@pytest.mark.parametrize("name", ["dsg", "l2p"])
def test_a_class_adds_no_more_than_its_paper_says(name: str, tiny_backbone: Backbone, tmp_path: Path) -> None:
    """A row of the head with its bias, and for DSG the embedding of the class in its generator."""
    sizes = []
    for classes in (2, 5):
        method = build(name, tiny_backbone, **overrides_for(name, {"epochs": 1}))
        method.learn(*textures(4, classes=classes))
        method.save(tmp_path / "model")
        arrays, _ = read_tensors(tmp_path / "model")
        sizes.append(sum(array.size for array in arrays.values()))
    embedding = 4 * int(QUICK["generator_channels"]) if name == "dsg" else 0
    assert sizes[1] - sizes[0] == 3 * (tiny_backbone.dim + 1 + embedding)


@every_method
def test_mistakes_are_refused(name: str, tiny_backbone: Backbone, tmp_path: Path) -> None:
    method = build(name, tiny_backbone)
    images, labels = textures(8)
    with pytest.raises(InputError):
        method.predict(images)
    with pytest.raises(InputError):
        method.learn(images, labels[:-1])
    with pytest.raises(InputError):
        method.learn([], [])
    method.learn(images, labels)
    method.save(tmp_path / "model")
    with pytest.raises(ModelFileError):
        find_method(name).load(tmp_path / "model", load_backbone(tiny_checkpoint(seed=1), threads=1))
    (tmp_path / "model").write_bytes((tmp_path / "model").read_bytes()[:-100])
    with pytest.raises(FoRoError):
        find_method(name).load(tmp_path / "model", tiny_backbone)
