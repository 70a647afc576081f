"""LayUP, RanPAC and ADAM without adaptation: each is something that FoRo has, exactly, and needs no torch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from foro import Learner
from foro.backbones import Backbone
from foro.errors import InputError
from foro.heads.ridge import KnowledgeEncoder
from foro.heads.ridge.solver import Solver
from foro.research.baselines.grid_ridge import VALUES, GridRidge
from foro.research.protocol.method_catalog import find_method, overrides_for
from tests.conftest import textures
from tests.research.baselines.small import build


def tasks() -> list[tuple[list[Any], list[str]]]:
    """Two tasks, the second with old and new classes."""
    return [textures(8), textures(5, classes=6, seed=1)]


@pytest.mark.parametrize("gamma", ["auto", 0.3])
@pytest.mark.parametrize("layers", [1, 2])
def test_layup_is_kem_without_projection(tiny_backbone: Backbone, layers: int, gamma: Any) -> None:
    layup = build("layup", tiny_backbone, readout_layers=layers, regularisation=gamma)
    settings = {"projection_dim": None, "regularisation": gamma, "readout": f"cls{layers}"}
    kem = Learner(tiny_backbone, policy="none", **settings)
    for images, labels in tasks():
        assert layup.learn(images, labels).forward_passes == len(images)
        kem.learn(images, labels)
    unseen, _ = textures(3, classes=6, seed=2)
    assert layup.labels == kem.labels
    assert np.array_equal(layup.scores(unseen), kem.scores(unseen))


@pytest.mark.parametrize("gamma", ["auto", 0.3])
def test_ranpac_is_kem_with_the_same_projection(tiny_backbone: Backbone, gamma: Any) -> None:
    ranpac = build("ranpac", tiny_backbone, seed=5, projection_dim=96, regularisation=gamma)
    kem = Learner(tiny_backbone, policy="none", seed=5, readout="cls", projection_dim=96, regularisation=gamma)
    for images, labels in tasks():
        ranpac.learn(images, labels)
        kem.learn(images, labels)
    unseen, _ = textures(3, classes=6, seed=2)
    assert np.array_equal(ranpac.scores(unseen), kem.scores(unseen))


def test_adam_is_the_nearest_class_mean_by_angle(tiny_backbone: Backbone) -> None:
    adam = build("adam", tiny_backbone)
    kem = Learner(tiny_backbone, policy="none", readout="cls", projection_dim=None)
    learned: dict[str, list[Any]] = {}
    for images, labels in tasks():
        adam.learn(images, labels)
        for feature, label in zip(kem.features(images), labels, strict=True):
            learned.setdefault(label, []).append(feature.astype(np.float64))
    unseen, _ = textures(5, classes=6, seed=2)
    means = np.stack([np.mean(learned[label], axis=0) for label in adam.labels])
    features = kem.features(unseen).astype(np.float64)
    cosines = (features @ means.T) / np.linalg.norm(means, axis=1) / np.linalg.norm(features, axis=1)[:, None]
    assert adam.predict(unseen) == [adam.labels[number] for number in cosines.argmax(axis=1)]


@pytest.mark.parametrize("name", ["kem", "foro-paper", "ranpac", "layup"])
def test_solving_is_part_of_learning(tiny_backbone: Backbone, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 3 counts what learning takes: a classifier that is solved at the first prediction would come free."""
    method = find_method(name)
    small = {"projection_dim": 48, "adaptation": "none", "search_images": 16, "online_batch": 8}
    made = method.build(tiny_backbone, method.resolve(overrides_for(name, small)), 0)
    images, labels = textures(4)
    made.learn(images, labels)
    monkeypatch.setattr(Solver, "solve", lambda _self: pytest.fail("solved again"))
    assert len(made.predict(images)) == len(images)


def test_layup_sees_all_layers_where_there_are_fewer(tiny_backbone: Backbone) -> None:
    layup = build("layup", tiny_backbone, readout_layers=50)
    assert isinstance(layup.classifier, KnowledgeEncoder)
    assert layup.classifier.features == tiny_backbone.depth * tiny_backbone.dim


@pytest.mark.parametrize("name", ["layup", "ranpac"])
def test_the_original_solver_agrees_with_the_shared_one(tiny_backbone: Backbone, name: str, tmp_path: Any) -> None:
    small = {"projection_dim": 48} if name == "ranpac" else {"readout_layers": 1}
    original = build(name, tiny_backbone, solver="original", **small)
    for images, labels in tasks():
        original.learn(images, labels)
    ridge = original.classifier
    assert isinstance(ridge, GridRidge)
    gamma = ridge.regularisation_used
    assert gamma in VALUES[ridge.choice]
    shared = build(name, tiny_backbone, regularisation=gamma, **small)
    for images, labels in tasks():
        shared.learn(images, labels)
    unseen, _ = textures(3, classes=6, seed=2)
    assert np.allclose(original.scores(unseen), shared.scores(unseen), atol=0.02)  # single against double precision
    original.save(tmp_path / "model")
    restored = find_method(name).load(tmp_path / "model", tiny_backbone)
    more, names = textures(4, classes=7, seed=3)
    for each in (original, restored):
        each.learn(more, names)
    assert restored.predict(unseen) == original.predict(unseen)


def test_the_original_solvers_leave_samples_out_as_their_papers_say() -> None:
    classes = np.repeat(np.arange(3), 8)
    targets = np.eye(3, dtype=np.float32)[classes]
    (held,) = GridRidge(2, None, "held-out", 0)._parts(targets)
    assert len(held) == 5  # a fifth of 24
    folds = GridRidge(2, None, "folds", 0)._parts(targets)
    assert sorted(np.concatenate(folds)) == list(range(24))
    assert all(np.bincount(classes[fold]).tolist() == [2, 2, 2] for fold in folds)


def test_the_original_solver_says_what_it_cannot_do() -> None:
    ridge = GridRidge(3, None, "held-out", 0)
    with np.errstate(over="ignore"), pytest.raises(InputError, match="cannot solve for γ"):
        ridge.absorb(np.full((20, 3), np.float32(1e30)), ["a", "b"] * 10)
    assert ridge.labels == []


def test_settings_are_checked(tiny_backbone: Backbone) -> None:
    for name in ("layup", "ranpac"):
        method = find_method(name)
        assert method.resolve({})["regularisation"] == {"layup": "auto", "ranpac": "held-out"}[name]
        with pytest.raises(InputError, match="the original solver chooses γ itself"):
            method.resolve({"regularisation": 0.1, "solver": "original"})
        assert method.resolve({"regularisation": 1})["regularisation"] == 1
        for wrong in ("many", -1.0, True):
            with pytest.raises(InputError, match="regularisation"):
                method.resolve({"regularisation": wrong})
        with pytest.raises(InputError, match="solver must be one of shared, original, not 'fast'"):
            method.resolve({"solver": "fast"})
    with pytest.raises(InputError, match="adaptation must be one of none, adapter, ssf"):
        find_method("adam").resolve({"adaptation": "lora"})
    with pytest.raises(InputError, match="adam has no setting 'solver'"):
        find_method("adam").resolve({"solver": "shared"})


@pytest.mark.parametrize(
    ("name", "setting", "wrong"),
    [
        ("dsg", "replay_per_class", "many"),
        ("dsg", "replay_per_class", 2.5),
        ("adam", "clip_norm", "high"),
        ("ft", "learning_rate", float("inf")),
        ("ft", "flip", 1),
    ],
)
def test_a_value_must_be_of_the_settings_kind(name: str, setting: str, wrong: Any) -> None:
    with pytest.raises(InputError, match=f"{setting} must be .*, not {wrong!r}"):
        find_method(name).resolve({setting: wrong})


def test_text_may_look_like_a_number_or_none() -> None:
    assert find_method("dsg").resolve({"generator_channels": 16})["generator_channels"] == "16"
    assert find_method("adam").resolve({"adaptation": None})["adaptation"] == "none"


def test_ranpac_chooses_as_its_original_does(tiny_backbone: Backbone) -> None:
    """The same fifth is held out, and the same power of ten does best on it, after every task."""
    shared, original = (
        build("ranpac", tiny_backbone, projection_dim=48, solver=each) for each in ("shared", "original")
    )
    chosen = []
    for task in range(3):
        images, labels = textures(20, classes=2 + task, seed=task)
        for method in (shared, original):
            method.learn(images, labels)
        chosen.append([method.classifier.regularisation_used for method in (shared, original)])
    assert all(one == other for one, other in chosen), chosen
    images, _ = textures(10, classes=4, seed=9)
    assert np.allclose(shared.scores(images), original.scores(images), atol=1e-3)


def test_a_task_of_one_image_has_nothing_to_hold_out(tiny_backbone: Backbone) -> None:
    method = build("ranpac", tiny_backbone, projection_dim=48)
    images, labels = textures(1, classes=1)
    method.learn(images, labels)
    assert method.predict(images) == labels


def test_without_adaptation_torch_is_not_loaded() -> None:
    code = """
import sys
from foro.backbones import load_backbone
from foro.research.protocol.method_catalog import find_method, list_methods
from tests.backbones.reference import tiny_checkpoint
from tests.conftest import textures
list_methods()
images, labels = textures(4)
for name, settings in (("adam", {}), ("layup", {}), ("ranpac", {"projection_dim": 16})):
    method = find_method(name)
    made = method.build(load_backbone(tiny_checkpoint()), method.resolve({"adaptation": "none", **settings}), 0)
    made.learn(images, labels)
    made.predict(images)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
