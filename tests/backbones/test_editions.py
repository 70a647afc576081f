"""An embedded backbone gets further editions: models of the first say which they need, and never read the wrong one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foro import Learner
from foro.backbones import Checkpoint, embedded, load_checkpoint
from foro.errors import BackboneError, ModelFileError
from tests.backbones.reference import tiny_checkpoint
from tests.command_line import foro
from tests.conftest import textures

FIRST = embedded.EDITIONS["nano@1"]
WEIGHTS = Path(__file__).parents[2] / "pretrain" / "nano@1"
THIRD = "vit_nano.third"


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """A model that was taught with the first nano."""
    images, labels = textures(3)
    learner = Learner(WEIGHTS, policy="none", projection_dim=64)
    learner.learn(images, labels)
    learner.save(tmp_path / "old.foro")
    return tmp_path / "old.foro"


def publish_the_third(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a release with other weights changes: the full name of nano."""
    config = {**tiny_checkpoint().config, "architecture": "vit_nano", "pretrained_cfg": {"tag": "third"}}
    weights = Checkpoint.from_tensors(dict(tiny_checkpoint().tensors), config)
    monkeypatch.setattr(embedded, "_LOADERS", {"nano": lambda: weights})
    monkeypatch.setattr(embedded, "_FULL_NAMES", {THIRD: "nano"})
    monkeypatch.setitem(embedded.EDITIONS, "nano@3", embedded.Edition(THIRD, weights.fingerprint))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, which is empty, and no network."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def put_the_first_into(hub: Path, commit: str = "a" * 40) -> Path:
    """The weights of the first edition as the hub's client keeps what it downloaded."""
    repository = hub / "models--foro-continual--nano-1"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    return shutil.copytree(WEIGHTS, repository / "snapshots" / commit)


def test_the_newest_edition_is_the_one_in_the_package() -> None:
    name, edition = list(embedded.EDITIONS.items())[-1]
    assert (edition.repository, edition.fingerprint) == (None, load_checkpoint("nano").fingerprint)
    assert load_checkpoint(name).name == edition.full_name == load_checkpoint("nano").name
    ran = foro("backbone", "pull", name)
    assert ran.code == 0, ran.err
    assert f"fingerprint  {edition.fingerprint}" in ran.out


def test_a_model_of_the_first_says_how_to_get_it(taught: Path, hub: Path) -> None:
    with pytest.raises(
        BackboneError, match=r"old\.foro was taught with nano@1, .* get it by foro backbone pull nano@1"
    ):
        Learner.load(taught)
    Image.fromarray(textures(1)[0][0]).save(hub.parent / "who.png")
    for command in (("predict", taught, hub.parent / "who.png"), ("backbone", "info", "nano@1")):
        ran = foro(*command)
        assert (ran.code, "foro backbone pull nano@1" in ran.err) == (2, True)


def test_a_model_of_the_first_finds_it(taught: Path, hub: Path) -> None:
    images, _ = textures(3)
    before = Learner.load(taught, WEIGHTS).scores(images)  # wherever they are kept
    with pytest.raises(ModelFileError, match=r"was taught with vit_nano_patch8_64\.foro_tin200 .* not with vit_nano"):
        Learner.load(taught, "nano")
    put_the_first_into(hub)
    assert foro("backbone", "pull", "nano@1").code == 0
    learner = Learner.load(taught)
    assert (learner.source, learner.backbone.fingerprint) == ("nano@1", FIRST.fingerprint)
    assert np.array_equal(learner.scores(images), before)


def test_other_weights_under_its_name_are_refused(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_the_first_into(hub)
    monkeypatch.setitem(embedded.EDITIONS, "nano@1", replace(FIRST, fingerprint="0" * 64))
    with pytest.raises(BackboneError, match="foro-continual/nano-1 has other weights than those of nano@1"):
        load_checkpoint("nano@1")


def test_a_model_of_a_newer_edition_asks_for_an_update(
    tmp_path: Path, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        publish_the_third(later)
        images, labels = textures(3)
        learner = Learner("nano", policy="none", projection_dim=64)
        learner.learn(images, labels)
        learner.save(tmp_path / "new.foro")
    with pytest.raises(ModelFileError, match="that edition of nano is not in this version of FoRo: update it"):
        Learner.load(tmp_path / "new.foro")
