"""The examples of docs/federated.md: three devices with different classes, one model, equal to the joint one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from foro import Learner, read_class_folders
from foro.research.datasets.registry import load_dataset
from tests.cluster.conftest import assert_same
from tests.command_line import foro

PAGE = (Path(__file__).parents[2] / "docs" / "federated.md").read_text(encoding="utf-8")
PLACES = {"harbour": (0, 1, 2, 3), "airport": (4, 5, 6), "station": (7, 8, 9)}


def block(language: str) -> str:
    """The only block of code in a language on the page."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    return str(found)


def reordered(learner: Learner, labels: list[Any]) -> Learner:
    """The same learner with its labels in another order."""
    twin = learner.blank()
    twin.head.merge(learner.head, labels)
    return twin


def test_the_python_example_gives_the_joint_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block("python"), names)
    model, joint = names["model"], names["joint"]
    assert sorted(model.labels) == list(range(10))
    assert_same(reordered(model, joint.labels).head, joint.head)
    assert sorted(path.name for path in tmp_path.glob("*.foro")) == [f"{place}.foro" for place in sorted(PLACES)]


def test_the_commands_give_the_joint_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train = load_dataset("digits").train.first(6)
    for place, classes in PLACES.items():
        for position, label in enumerate(train.labels):
            if label in classes:
                path = Path(place, str(label), f"{position}.png")
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(np.asarray(train.images[position])).save(path)
    for line in block("sh").splitlines():
        ran = foro(*shlex.split(line)[1:])
        assert ran.code == 0, ran.err
    assert "10" in ran.out
    model = Learner.load("all.foro")
    joint = Learner("nano", policy="none")
    parts = [read_class_folders(place) for place in PLACES]
    joint.learn([path for part in parts for path in part.images], [label for part in parts for label in part.labels])
    assert model.head.samples == 60
    assert_same(model.head, joint.head)
    asked = [str(path) for path in Path("station").rglob("*.png")]
    assert model.predict(asked) == joint.predict(asked)
