from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from foro import Learner, read_class_folders
from tests.bad_images import BAD, write_images
from tests.cli.conftest import SIDE
from tests.command_line import foro


@pytest.fixture(scope="module")
def weaker(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned one image of each digit but the 9."""
    train = read_class_folders(digits / "train", "[0-8]").first(1)
    learner = Learner("nano", policy="none", projection_dim=256, image_size=SIDE)
    learner.learn(train.images, train.labels)
    path = tmp_path_factory.mktemp("weaker") / "weaker.foro"
    learner.save(path)
    return path


def test_two_models_on_the_same_images(model: Path, weaker: Path, digits: Path) -> None:
    shown = foro("compare", weaker, model, digits / "test")
    assert shown.code == 0
    found = json.loads(foro("compare", weaker, model, digits / "test", "--json").out)
    alone = [json.loads(foro("evaluate", each, digits / "test", "--json").out)["accuracy"] for each in (weaker, model)]
    assert found["accuracy"] == alone
    assert found["images"] == 40
    assert found["both_right"] + found["only_first_right"] == round(40 * alone[0])
    assert found["both_right"] + found["only_second_right"] == round(40 * alone[1])
    assert found["p_value"] < 0.05
    assert "the difference is hardly chance" in shown.out
    assert f"{weaker}  {alone[0]:.1%} ({round(40 * alone[0])} of 40 images)" in shown.out.replace("   ", "  ")
    assert found["unknown_labels"][1] == {}
    assert list(found["unknown_labels"][0]) == ["9"]
    assert f"of labels that {weaker} does not know count as wrong: 9" in shown.err
    first = found["differences"][0]
    assert f"{first['image']} ({first['label']}): {first['first']} and {first['second']}" in shown.out


def test_a_model_does_not_differ_from_itself(model: Path, digits: Path, tmp_path: Path) -> None:
    shutil.copytree(digits / "test", tmp_path / "data")
    bad = write_images(tmp_path / "data" / "1", BAD)
    ran = foro("compare", model, model, tmp_path / "data")
    assert ran.code == 1
    assert f"{len(bad)} images were skipped" in ran.err
    assert "p = 1: the difference may well be chance" in ran.out
    assert "they differ on" not in ran.out
    assert foro("compare", model, model, tmp_path / "data", "--strict").code == 2
