from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.bad_images import BAD, write_images
from tests.cli.conftest import SIDE, write_digits
from tests.command_line import foro

NEW = ("--image-size", SIDE, "--set", "projection_dim=256", "--held-out", 0)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A folder of 300 digits, and five images in it that are in the folder of another digit."""
    folder = write_digits(tmp_path_factory.mktemp("mixed") / "data", 0, 300)
    moved = []
    for digit in range(0, 10, 2):
        path = sorted((folder / str(digit)).glob("*.png"))[3]
        moved.append(path.rename(folder / str(digit + 1) / path.name))
    return folder, moved


@pytest.fixture(scope="module")
def taught(mixed: tuple[Path, list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned them all."""
    path = tmp_path_factory.mktemp("taught") / "digits.foro"
    assert foro("learn", path, mixed[0], *NEW).code == 0
    return path


def test_images_in_the_wrong_folder_are_found_though_they_were_learned(
    taught: Path, mixed: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    folder, moved = mixed
    before = taught.read_bytes()
    found = json.loads(foro("review", taught, folder, "--json").out)
    assert (found["images"], found["learned"]) == (300, 300)
    doubts = {each["image"]: each for each in found["doubts"]}
    assert sum(str(path) in doubts for path in moved) >= 4
    first = [each["image"] for each in found["doubts"][:6]]
    assert sum(str(path) in first for path in moved) >= 4
    right = [doubts[str(path)]["suggested"] == str(int(path.parent.name) - 1) for path in moved if str(path) in doubts]
    assert sum(right) >= 3
    chances = [each["wrong"] for each in found["doubts"]]
    assert chances == sorted(chances, reverse=True)
    assert all(each["learned"] == each["label"] for each in found["doubts"])
    page = tmp_path / "review.html"
    shown = foro("review", taught, folder, "--html", page, "--most", 2)
    assert shown.code == 0
    assert "300: 300 learned, 0 new to the model" in shown.out
    assert f"{found['likely_wrong']} likely" in shown.out
    assert f"20 more of {found['needs'][0]['label']}, which has {found['needs'][0]['learned']}" in shown.out
    assert shown.out.count(" wrong, rather ") == 2
    text = page.read_text(encoding="utf-8")
    assert text.count("data:image/jpeg;base64,") >= len(found["doubts"])
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert taught.read_bytes() == before


def test_new_images_are_judged_by_prediction(model: Path, digits: Path) -> None:
    found = json.loads(foro("review", model, digits / "test", "--json").out)
    assert (found["images"], found["learned"]) == (40, 0)
    assert all(each["learned"] is None for each in found["doubts"])


def test_copies_and_labels_that_cannot_be_judged_are_named(
    taught: Path, mixed: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(mixed[0], folder)
    original = sorted((folder / "5").glob("*.png"))[0]
    shutil.copy(original, folder / "6" / "again.png")
    (folder / "dodo").mkdir()
    Image.new("RGB", (8, 8), "red").save(folder / "dodo" / "bird.png")
    bad = write_images(folder / "1", BAD)
    ran = foro("review", taught, folder, "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert len(found["skipped"]) == len(bad)
    assert found["not_judged"] == {"dodo": 1}
    pair = next(each for each in found["copies"] if str(folder / "6" / "again.png") in (each["image"], each["other"]))
    assert str(original) in (pair["image"], pair["other"])
    assert (pair["same"], {pair["label"], pair["other_label"]}) == (True, {"5", "6"})
    again = next(each for each in found["doubts"] if each["image"].endswith("again.png"))
    assert again["learned"] == "5"
    shown = foro("review", taught, folder)
    assert "1 image could not be judged, the model has learned no other of their labels: dodo" in shown.err
    assert "copies        " in shown.out


def test_what_cannot_be_reviewed_is_one_sentence(digits: Path, model: Path, tmp_path: Path) -> None:
    shutil.copytree(digits / "train" / "3", tmp_path / "one" / "3")
    assert foro("learn", tmp_path / "one.foro", tmp_path / "one", "--set", "projection_dim=64").code == 0
    ran = foro("review", tmp_path / "one.foro", tmp_path / "one")
    assert (ran.code, ran.err) == (2, "foro: a model needs two classes to doubt a label\n")
    (tmp_path / "strange" / "dodo").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(tmp_path / "strange" / "dodo" / "bird.png")
    ran = foro("review", model, tmp_path / "strange")
    assert ran.code == 2
    assert "no label can be judged" in ran.err
