from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from PIL import Image

from foro import Learner
from tests.cli.conftest import write_digits
from tests.command_line import foro


def test_onnx_needs_nothing_of_foro(model: Path, digits: Path, tmp_path: Path) -> None:
    out = tmp_path / "digits.onnx"
    ran = foro("export", model, out, "--check", digits / "test", "--json")
    assert ran.code == 0
    told = json.loads(ran.out)
    assert told["checked_images"] == told["same_labels"] == 40
    assert told["bytes"] == out.stat().st_size
    paths = sorted((digits / "test").glob("*/*.png"))

    session = onnxruntime.InferenceSession(str(out))
    facts = session.get_modelmeta().custom_metadata_map
    labels, how = json.loads(facts["labels"]), json.loads(facts["preprocessing"])
    size = how["image_size"]
    assert how["crop_mode"] == "center"
    images = [Image.open(path).convert("RGB").resize((size, size), Image.Resampling.BICUBIC) for path in paths]
    answers = session.run(["probabilities"], {"image": np.stack([np.asarray(image) for image in images])})[0]

    learner = Learner.load(model)
    assert labels == learner.labels
    assert np.allclose(answers, learner.probabilities(paths), atol=1e-4)
    assert [labels[number] for number in answers.argmax(axis=1)] == learner.predict(paths)


def test_a_small_file_predicts_the_same_and_learns_nothing(model: Path, digits: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.safetensors"
    ran = foro("export", model, out)
    assert ran.code == 0
    assert "checked   on 32 images: 32 have the same label" in ran.out
    assert out.stat().st_size < model.stat().st_size / 2
    assert foro("predict", out, digits / "test").out == foro("predict", model, digits / "test").out
    assert foro("evaluate", out, digits / "test").out == foro("evaluate", model, digits / "test").out
    refused = foro("learn", out, digits / "test")
    assert refused.code == 2
    assert "is for predicting only" in refused.err
    assert refused.err.count("\n") == 1
    again = foro("export", out, tmp_path / "again.onnx")
    assert again.code == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("out.pkl", "must end in .onnx or .safetensors"),
        ("gone/out.onnx", "cannot be written: No such file or directory"),
        ("file/out.onnx", "cannot be written: Not a directory"),
        ("file/out.safetensors", "cannot be written: Not a directory"),
        (f"{'x' * 240}.onnx", "cannot be written: File name too long"),  # and cannot be tidied up, either
    ],
)
def test_mistakes_are_one_line(model: Path, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").touch()
    ran = foro("export", model, tmp_path / name)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_info_of_a_small_file_says_what_it_is(model: Path, tmp_path: Path) -> None:
    foro("export", model, tmp_path / "small.safetensors")
    ran = foro("info", tmp_path / "small.safetensors")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "is for predicting only: it knows 10 labels" in ran.err


def test_few_pictures_make_a_small_file(tmp_path: Path) -> None:
    sixteen = write_digits(tmp_path / "sixteen", 0, 16)
    for name, more in (("small", ()), ("portable", ("--portable",))):
        assert foro("learn", tmp_path / f"{name}.foro", sixteen, *more).code == 0
    small, portable = ((tmp_path / f"{name}.foro").stat().st_size for name in ("small", "portable"))
    assert small < 1_000_000
    assert portable > 6_000_000  # the matrix of the projection
    answers = [foro("predict", tmp_path / f"{name}.foro", sixteen).out for name in ("small", "portable")]
    assert answers[0] == answers[1]
