"""Every verb that changes a model reads what can be read, names the rest, and tells by its exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from foro import Learner
from tests.bad_images import BAD, UNUSUAL, write_images
from tests.command_line import foro

NEW = ("--policy", "none", "--set", "projection_dim=128", "--held-out", "0")


@pytest.fixture
def data(digits: Path, tmp_path: Path) -> Path:
    """Two classes of digits; one has all unusual and all bad images, too."""
    for name in ("0", "1"):
        shutil.copytree(digits / "train" / name, tmp_path / "data" / name)
    write_images(tmp_path / "data" / "1", UNUSUAL)
    write_images(tmp_path / "data" / "1", BAD)
    return tmp_path / "data"


def test_learn_skips_counts_and_lists_and_unlearn_takes_it_back(data: Path, tmp_path: Path) -> None:
    model, good = tmp_path / "model.foro", sum(len(list(each.iterdir())) for each in data.iterdir()) - len(BAD)
    ran = foro("learn", model, data, *NEW, "--json")
    assert ran.code == 1
    told = json.loads(ran.out)
    assert {Path(each["image"]).name for each in told["skipped"]} == set(BAD)
    copies = told["known"]  # two of the unusual images are the same one in different files
    assert told["samples"] == good - copies
    assert Learner.load(model).head.samples == good - copies
    again = foro("learn", model, data, "--held-out", 0)
    assert again.code == 1
    assert f"{len(BAD)} images were skipped" in again.err
    assert "Traceback" not in again.err
    unlearned = foro("unlearn", model, data)
    assert unlearned.code == 1
    assert Learner.load(model).head.samples == 0  # the second lesson added nothing


def test_strict_learns_nothing(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.foro"
    ran = foro("learn", model, data, *NEW, "--strict")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert any(name in ran.err for name in BAD)
    assert not model.exists()


def test_unusual_images_alone_are_nothing_special(data: Path, tmp_path: Path) -> None:
    for name in BAD:
        (data / "1" / name).unlink()
    ran = foro("learn", tmp_path / "model.foro", data, *NEW, "--backbone", "nano")
    assert (ran.code, ran.err) == (0, "")
