"""What FoRo and its ablations are; what every method must keep is in tests/contracts."""

from __future__ import annotations

import numpy as np
import pytest

from foro.adaptation.search import Verdict
from foro.backbones import Backbone
from foro.errors import InputError
from foro.research.methods.learner_method import LearnerMethod
from foro.research.methods.method import Method, register
from foro.research.protocol.method_catalog import find_method
from tests.conftest import textures
from tests.research.conftest import SMALL


def build(name: str, backbone: Backbone, seed: int = 0) -> Method:
    method = find_method(name)
    overrides = {key: value for key, value in SMALL.items() if key not in method.fixed}
    return method.build(backbone, method.resolve({**overrides, "search_images": 32}), seed)


def test_kem_passes_every_image_once_and_foro_more_often(tiny_backbone: Backbone) -> None:
    images, labels = textures(10)
    passes = {name: build(name, tiny_backbone).learn(images, labels).forward_passes for name in ("kem", "foro-paper")}
    assert passes["kem"] == 40
    assert passes["foro-paper"] == 32 + 4 * 40  # the history's sample, then K = 4 candidates for every image


def test_foro_searches_gains_on_the_first_task_and_says_what_it_found(
    tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Verdict, "kept", property(lambda _: True))
    images, labels = textures(16)
    method = build("foro", tiny_backbone)
    assert isinstance(method, LearnerMethod)
    cost = method.learn(images, labels)
    assert cost.forward_passes == 64 + 2 * (4 * 32 + 64) + 64  # neutral, candidates, the check, the features
    assert cost.note is not None
    assert cost.note.startswith("adapted: ")
    assert set(method.learner.candidate.arrays()) == {"gains"}
    assert method.learn(images, labels).forward_passes == 64


def test_nearest_mean_has_no_projection_and_predicts_the_smallest_angle(tiny_backbone: Backbone) -> None:
    images, labels = textures(10)
    method = build("fitness", tiny_backbone)
    assert isinstance(method, LearnerMethod)
    method.learn(images, labels)
    features = method.learner.features(images).astype(np.float64)
    names = method.learner.labels
    means = np.stack([features[[label == name for label in labels]].mean(axis=0) for name in names])
    cosines = (features / np.linalg.norm(features, axis=1)[:, None]) @ (
        means / np.linalg.norm(means, axis=1)[:, None]
    ).T
    assert method.predict(images) == [names[number] for number in cosines.argmax(axis=1)]
    assert method.learner.head.projection is None


def test_mistakes_are_said_in_one_sentence() -> None:
    with pytest.raises(InputError, match="there is no method 'keem'; did you mean kem"):
        find_method("keem")
    with pytest.raises(InputError, match="kem is defined by policy = none, which cannot be set to freeze"):
        find_method("kem").resolve({"policy": "freeze"})
    with pytest.raises(InputError, match="unknown setting 'learning_rate'"):
        find_method("foro").resolve({"learning_rate": 1})
    with pytest.raises(InputError, match="population must be a whole number of at least 2, or None, not 'many'"):
        find_method("foro").resolve({"population": "many"})
    with pytest.raises(InputError, match="already registered"):
        register("foro", row="FoRo")(find_method("foro"))
    assert find_method("kem-paper").resolve({"regularisation": "auto"})["regularisation"] == "auto"
    assert find_method("kem").resolve({"projection_dim": None, "regularisation": 1})["projection_dim"] is None
