from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.bad_images import BAD, write_images
from tests.command_line import foro


def test_numbers_for_people_and_for_scripts(model: Path, digits: Path) -> None:
    shown = foro("evaluate", model, digits / "test")
    assert (shown.code, shown.err) == (0, "")
    found = json.loads(foro("evaluate", model, digits / "test", "--json").out)
    right = sum(row[number] for number, row in enumerate(found["confusion"]))
    assert found["accuracy"] == right / 40
    assert f"{found['accuracy']:.1%} ({right} of 40 images)" in shown.out
    assert f"expected calibration error {found['calibration_error']:.1%}" in shown.out
    assert sum(each["images"] for each in found["classes"]) == found["images"] == 40
    assert sum(each["images"] for each in found["calibration"] if each) == 40
    assert found["skipped"] == []
    assert found["unknown_labels"] == {}


def test_a_page_with_everything_inside_and_a_picture(model: Path, digits: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "confusion.png"
    ran = foro("evaluate", model, digits / "test", "--html", page, "--confusion", picture)
    assert ran.code == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "http-equiv" not in text
    assert not any(f'{attribute}="http' in text.replace("xmlns", "") for attribute in ("src", "href"))
    assert "expected calibration error" in text
    with Image.open(picture) as image:
        assert min(image.size) > 300


def test_a_table_of_paths_and_labels_that_are_not_known(model: Path, digits: Path, tmp_path: Path) -> None:
    paths = sorted((digits / "test" / "1").glob("*.png"))
    rows = [f"{path},{'dodo' if number == 0 else '1'}" for number, path in enumerate(paths)]
    (tmp_path / "list.csv").write_text("path,label\n" + "\n".join(rows))
    ran = foro("evaluate", model, tmp_path / "list.csv")
    assert ran.code == 0
    assert "1 image of labels that the model does not know count as wrong: dodo" in ran.err
    found = json.loads(foro("evaluate", model, tmp_path / "list.csv", "--json").out)
    assert found["unknown_labels"] == {"dodo": 1}
    assert found["accuracy"] < 1


def test_bad_images_are_skipped_and_counted_or_stop_it(model: Path, digits: Path, tmp_path: Path) -> None:
    shutil.copytree(digits / "test", tmp_path / "data")
    bad = write_images(tmp_path / "data" / "1", BAD)
    ran = foro("evaluate", model, tmp_path / "data", "--html", tmp_path / "report.html")
    assert ran.code == 1
    assert f"{len(bad)} images were skipped" in ran.err
    assert "of 40 images" in ran.out
    assert "empty.jpg" in (tmp_path / "report.html").read_text(encoding="utf-8")
    found = foro("evaluate", model, tmp_path / "data", "--json")
    assert found.code == 1
    assert len(json.loads(found.out)["skipped"]) == len(bad)
    strict = foro("evaluate", model, tmp_path / "data", "--strict")
    assert (strict.code, strict.out, strict.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [
        ("--html", "gone/report.html", "cannot be written"),
        ("--confusion", "gone/picture.png", "cannot be written"),
        ("--confusion", "picture.doc", "does not end like a picture"),
    ],
)
def test_what_cannot_be_written_is_one_line(
    model: Path, digits: Path, tmp_path: Path, option: str, name: str, said: str
) -> None:
    ran = foro("evaluate", model, digits / "test", option, tmp_path / name)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_nothing_to_evaluate_is_one_line(model: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "cat").mkdir(parents=True)
    (tmp_path / "data" / "cat" / "1.png").write_text("no image")
    ran = foro("evaluate", model, tmp_path / "data")
    assert ran.code == 2
    assert "1.png cannot be read as an image" in ran.err
    assert foro("evaluate", model, tmp_path / "none").code == 2


@pytest.mark.parametrize(("option", "name"), [("--html", "page.html"), ("--confusion", "picture.png")])
def test_what_was_written_before_outlasts_a_full_disk(
    model: Path, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, name: str
) -> None:
    (tmp_path / name).write_text("the one of last week")

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("foro.util.atomic_files.os.fsync", full)
    ran = foro("evaluate", model, digits / "test", option, tmp_path / name)
    assert ran.code == 2
    assert ran.err.endswith(f"{tmp_path / name} cannot be written: No space left on device\n")
    assert (tmp_path / name).read_text() == "the one of last week"
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".part")] == []
