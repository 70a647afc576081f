"""The examples of docs/scaling.md, on a cluster of two processors."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from foro import Learner
from tests.command_line import foro
from tests.conftest import textures
from tests.test_docs import DOCS, blocks

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]
PAGE = DOCS / "scaling.md"


@pytest.fixture
def birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Paths and labels of a folder."""
    monkeypatch.chdir(tmp_path)
    found = []
    for number, (image, label) in enumerate(zip(*textures(3), strict=True)):
        path = Path("birds", label, f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
        found.append((str(path.resolve()), label))
    return found


def test_the_python_example_learns_what_one_process_learns(ray: Any, birds: list[tuple[str, str]]) -> None:
    (program,) = blocks(PAGE)
    paths, labels = (list(each) for each in zip(*birds, strict=True))
    names: dict[str, Any] = {"paths": paths, "labels": labels}
    exec(program.replace("workers=16, gpus_per_worker=1", "workers=2"), names)
    assert names["learner"].predict(paths) == labels


def test_the_first_command_learns_on_this_machine(ray: Any, birds: list[tuple[str, str]]) -> None:
    line = re.findall(r"^foro learn .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)[0]
    ran = foro(*shlex.split(line, comments=True)[1:], "--quiet")
    assert ran.code == 0, ran.err
    assert Learner.load("birds.foro").labels == sorted({label for _, label in birds})
