from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foro import Learner
from tests.bad_images import BAD, UNUSUAL, write_images
from tests.cli.conftest import SIDE
from tests.command_line import foro


def test_a_line_for_each_image_with_label_and_confidence(model: Path, digits: Path) -> None:
    folder = digits / "test" / "3"
    ran = foro("predict", model, folder)
    paths = sorted(folder.glob("*.png"))
    assert ran.code == 0
    assert ran.err == ""
    rows = [line.split("\t") for line in ran.lines]
    assert [row[0] for row in rows] == [str(path) for path in paths]
    learner = Learner.load(model)
    expected = learner.probabilities(paths)
    assert [row[1] for row in rows] == learner.predict(paths)
    assert np.allclose([float(row[2]) for row in rows], expected.max(axis=1), atol=1e-4)


def test_people_see_columns_and_percent(model: Path, digits: Path) -> None:
    ran = foro("predict", model, digits / "test" / "3", "--top", 2, terminal=True)
    places = {line.index("  ") for line in ran.lines}
    assert len(places) == 1
    assert all(line.count(" %") == 2 and "\t" not in line for line in ran.lines)
    assert "\x1b[1m" in ran.out  # the answer stands out, which it must not where a script reads it
    assert "\x1b" not in foro("predict", model, digits / "test" / "3").out


def test_json_has_an_object_on_each_line(model: Path, digits: Path) -> None:
    ran = foro("predict", model, digits / "test", "--json", "--top", 3)
    rows = [json.loads(line) for line in ran.lines]
    assert len(rows) == 40
    for row in rows:
        assert row["label"] == row["top"][0]["label"]
        assert [each["confidence"] for each in row["top"]] == sorted(
            (each["confidence"] for each in row["top"]), reverse=True
        )
    right = np.mean([Path(row["image"]).parent.name == row["label"] for row in rows])
    assert right > 0.6


def test_csv_survives_any_name(model: Path, digits: Path, tmp_path: Path) -> None:
    odd = tmp_path / 'a, "b"\tc.png'
    odd.write_bytes(next((digits / "test" / "1").glob("*.png")).read_bytes())
    bad = tmp_path / "bad.png"
    bad.write_text("no image")
    ran = foro("predict", model, odd, bad, "--csv", "--top", 2)
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert list(rows[0]) == ["image", "label", "confidence", "label_2", "confidence_2", "error"]
    assert rows[0]["image"] == str(odd)
    assert rows[0]["error"] == ""
    assert ran.code == 1


def test_patterns_folders_files_and_the_standard_input(model: Path, digits: Path) -> None:
    paths = sorted((digits / "test").glob("*/*.png"))
    by_pattern = foro("predict", model, f"{digits}/test/**/*.png")
    assert len(by_pattern.lines) == len(paths) == 40
    listed = "\n".join(str(path) for path in paths[:5]) + "\n\n"
    by_input = foro("predict", model, "-", stdin=listed)
    by_name = foro("predict", model, *paths[:5])
    rows = [[line.split("\t") for line in ran.lines] for ran in (by_input, by_name)]
    assert [row[:2] for row in rows[0]] == [row[:2] for row in rows[1]]
    assert np.allclose([float(row[2]) for row in rows[0]], [float(row[2]) for row in rows[1]], atol=2e-4)


def test_what_it_is_not_sure_of_is_unknown(model: Path, digits: Path) -> None:
    sure = foro("predict", model, digits / "test", "--unknown-below", 0.9, "--unknown-at", 1)
    plain = foro("predict", model, digits / "test", "--unknown-at", 1)
    for line, before in zip(sure.lines, plain.lines, strict=True):
        label, confidence = line.split("\t")[1:]
        assert (label == "unknown") == (float(confidence) < 0.9)
        assert label in ("unknown", before.split("\t")[1])
    row = json.loads(foro("predict", model, digits / "test" / "8", "--unknown-below", 1, "--json").lines[0])
    assert row["label"] == "unknown"
    assert row["known"] is False


def test_what_is_of_no_known_class_is_unknown(model: Path, digits: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3), np.uint8)
    for number, image in enumerate(noise):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    strange = [json.loads(line) for line in foro("predict", model, tmp_path, "--json", "--top", 2).lines]
    for row in strange:
        assert row["label"] == row["top"][0]["label"] == "unknown"
        assert row["known"] is False
        assert row["confidence"] == row["unknown"] >= 0.5
        assert row["top"][1]["confidence"] <= 1 - row["unknown"]
    known = [json.loads(line) for line in foro("predict", model, digits / "test", "--json").lines]
    assert np.mean([row["label"] != "unknown" for row in known]) > 0.8
    learner = Learner.load(model)
    paths = sorted((digits / "test").glob("*/*.png"))
    chances = {row["image"]: row["unknown"] for row in known}
    assert np.allclose([1 - chances[str(path)] for path in paths], learner.familiarity(paths), atol=1e-5)
    always = foro("predict", model, paths[0], "--unknown-at", 0)
    never = foro("predict", model, tmp_path, "--unknown-at", 1)
    assert always.lines[0].split("\t")[1] == "unknown"
    assert not any(line.split("\t")[1] == "unknown" for line in never.lines)


def test_one_class_does_not_take_everything_for_it(digits: Path, tmp_path: Path) -> None:
    train = sorted((digits / "train" / "0").glob("*.png"))
    learner = Learner("nano", policy="none", projection_dim=256, image_size=SIDE)
    learner.learn(train, ["0"] * len(train))
    learner.save(tmp_path / "zero.foro")
    others = foro("predict", tmp_path / "zero.foro", digits / "test" / "1", digits / "test" / "7")
    known = foro("predict", tmp_path / "zero.foro", digits / "test" / "0")
    refused = [np.mean([line.split("\t")[1] == "unknown" for line in each.lines]) for each in (others, known)]
    assert refused[0] > 0.5 > refused[1]


def test_unusual_images_are_read_and_bad_ones_are_named(model: Path, tmp_path: Path) -> None:
    good, bad = write_images(tmp_path / "in", UNUSUAL), write_images(tmp_path / "in", BAD)
    ran = foro("predict", model, tmp_path / "in")
    assert ran.code == 1
    assert {line.split("\t")[0] for line in ran.lines} == {str(path) for path in good}
    assert f"{len(bad)} images were skipped" in ran.err
    for path in bad:
        assert path.name in ran.err
    assert foro("predict", model, *good).code == 0
    lines = [json.loads(line) for line in foro("predict", model, tmp_path / "in", "--json").lines]
    assert {line["image"] for line in lines if "error" in line} == {str(path) for path in bad}


@pytest.mark.parametrize("name", BAD)
def test_strict_stops_at_the_first_bad_image(model: Path, digits: Path, tmp_path: Path, name: str) -> None:
    (path,) = write_images(tmp_path, {name: BAD[name]})
    fine = next((digits / "test" / "1").glob("*.png"))
    ran = foro("predict", model, fine, path, "--strict")
    assert ran.code == 2
    assert name in ran.err
    assert ran.err.count("\n") == 1


def test_mistakes_are_one_line_and_exit_code_2(model: Path, digits: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.jpg").write_text("text")
    for arguments, said in [
        ((tmp_path / "none.foro", digits / "test"), "there is no file"),
        ((model, tmp_path / "empty"), "has no images"),
        ((model, f"{tmp_path}/*.bmp"), "no image matches"),
        ((model, tmp_path / "gone.png"), "there is no image"),
        ((model, tmp_path / "text.jpg"), "cannot be read as an image"),
        ((model, tmp_path / "text.jpg", tmp_path / "gone.png"), "none of the 2 images can be read"),
        ((model, digits / "test", "--json", "--csv"), "choose one"),
        ((model, digits / "test", "--backbone", tmp_path), "model.safetensors"),
        ((model, "-"), "no image was named"),
    ]:
        ran = foro("predict", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("foro: ")
        assert said in ran.err
        assert ran.err.count("\n") == 1


def test_answers_come_before_the_next_path_is_known(model: Path, digits: Path) -> None:
    paths = sorted((digits / "test").glob("*/*.png"))[:2]
    code = "from foro.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "predict", str(model), "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for path in paths:
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(str(path))
        process.stdin.close()
        assert process.wait() == 0


def test_predicting_imports_nothing_that_only_learning_needs(model: Path, digits: Path) -> None:
    path = next((digits / "test" / "1").glob("*.png"))
    heavy = ("scipy", "sklearn", "matplotlib", "cma", "torch", "rich", "huggingface_hub", "onnx")
    code = (
        "import sys\n"
        "from foro.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    for arguments in (["--help"], ["predict", str(model), str(path)]):
        ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert ran.stderr == "[]\n"
