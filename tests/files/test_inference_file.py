"""Any model file can be opened for predicting only, and gives what its learner gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foro import Learner
from foro.backbones import Backbone
from foro.durable import DurableLearner
from foro.errors import InputError, ModelFileError
from foro.files import read_model, write_model
from foro.files.inference_file import write_inference
from foro.verbs.reading import load_snapshot
from tests.conftest import textures

QUICK = {"policy": "evolve", "generations": 2, "population": 3, "search_images": 16}
KINDS = {
    "prompt": {**QUICK, "adaptation": "prompt"},
    "gains": {**QUICK, "adaptation": "gains", "gain_step": 0.3},
    "both": {**QUICK, "adaptation": "both", "readout": "cls"},
    "gelu": {"policy": "none", "activation": "gelu"},
    "deep": {"policy": "none", "readout": "cls2", "activation": "tanh"},
    "cls": {"policy": "none", "readout": "cls"},
    "linear": {"policy": "none", "projection_dim": None},
    "nearest mean": {"policy": "none", "head": "nearest-mean"},
}


def taught(backbone: Backbone, kind: str) -> Learner:
    learner = Learner(backbone, **{"projection_dim": 64, **KINDS[kind]})
    learner.learn(*textures(10))
    assert set(learner.candidate.arrays()) == {"both": {"prompt", "gains"}}.get(kind, {kind} & {"prompt", "gains"})
    return learner


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_file_and_its_small_copy(kind: str, tiny_backbone: Backbone, tmp_path: Path) -> None:
    learner = taught(tiny_backbone, kind)
    images, _ = textures(4, seed=1)
    learner.save(tmp_path / "model.foro")
    snapshot = load_snapshot(tmp_path / "model.foro", tiny_backbone)
    assert list(snapshot.labels) == learner.labels
    assert np.array_equal(snapshot.scores(images), learner.scores(images))
    assert np.array_equal(snapshot.probabilities(images), learner.probabilities(images))
    write_inference(snapshot, tmp_path / "small.safetensors")
    small = load_snapshot(tmp_path / "small.safetensors", tiny_backbone)
    assert small.labels == snapshot.labels
    assert np.allclose(small.probabilities(images), learner.probabilities(images), atol=1e-4)
    with pytest.raises(ModelFileError, match="for predicting only"):
        Learner.load(tmp_path / "small.safetensors", tiny_backbone)


def test_what_is_only_in_the_journal_counts(tiny_backbone: Backbone, tmp_path: Path) -> None:
    images, labels = textures(6)
    path = tmp_path / "model.foro"
    with DurableLearner.open(path, create=lambda: Learner(tiny_backbone, policy="none", projection_dim=64)) as model:
        model.learn(images[:12], labels[:12])
        model.save()
        model.learn(images[12:], ["new"] * 12)
        snapshot = load_snapshot(path, tiny_backbone)
        assert "new" in snapshot.labels
        assert np.allclose(snapshot.scores(images), model.learner.scores(images), atol=1e-9)


def test_what_is_not_a_model_to_predict_with_is_refused(tiny_backbone: Backbone, tmp_path: Path) -> None:
    Learner(tiny_backbone, projection_dim=64).save(tmp_path / "blank")
    with pytest.raises(InputError, match="has not learned anything yet"):
        load_snapshot(tmp_path / "blank", tiny_backbone)
    taught(tiny_backbone, "gelu").save(tmp_path / "model")
    arrays, metadata = read_model(tmp_path / "model")
    lacking = {name: array for name, array in arrays.items() if name != "encoder.weights"}
    write_model(tmp_path / "lacking", lacking, metadata)
    with pytest.raises(ModelFileError, match="lacks a part"):
        load_snapshot(tmp_path / "lacking", tiny_backbone)
    write_model(tmp_path / "cut", {**arrays, "encoder.weights": arrays["encoder.weights"][:-1]}, metadata)
    with pytest.raises(ModelFileError, match="not a model of one piece"):
        load_snapshot(tmp_path / "cut", tiny_backbone)
    with pytest.raises(ModelFileError, match="was taught with vit_random"):
        load_snapshot(tmp_path / "model", "nano")
