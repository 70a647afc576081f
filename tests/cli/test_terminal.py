"""What commands print is true, is one line where it should be, and gives no orders to the terminal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from foro import Learner
from foro.cli.terminal import plain, rate, say_json
from tests.backbones.reference import save_checkpoint, tiny_checkpoint
from tests.cli.conftest import SIDE, write_digits
from tests.command_line import Ran, foro
from tests.conftest import textures

EVIL = "evil\x1b[2J\x9b31m\u202e\n\tname"
"""Clears the screen, colours and turns round what follows, and breaks a line and a column."""

NEW = ("--policy", "none", "--set", "projection_dim=64", "--image-size", SIDE)


def harmless(ran: Ran, lines: int | None = None) -> None:
    for text in (ran.out, ran.err):
        assert not set("\x1b\x9b\u202e") & set(text)
    assert "Traceback" not in ran.err
    assert lines is None or len(ran.lines) == lines


def test_text_that_a_terminal_would_obey_is_shown() -> None:
    assert plain(EVIL) == "evil\\x1b[2J\\x9b31m\\u202e\\n\\tname"
    assert plain("caf\udce9.jpg") == "caf\\udce9.jpg"
    for text in ("Ñandú ☃", "👨‍👩‍👧", "می‌خواهم", "9.41\u202fAM", "東京"):
        assert plain(text) == text


def test_json_is_exact_and_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    say_json({"text": EVIL, "number": float("nan"), "rows": [float("inf"), 1.5], "name": "東京\udce9"})
    shown = capsys.readouterr().out
    assert shown.rstrip("\n").isprintable()
    assert json.loads(shown) == {"text": EVIL, "number": None, "rows": [None, 1.5], "name": "東京\udce9"}


def test_every_command_prints_evil_names_harmlessly(digits: Path, tmp_path: Path) -> None:
    folder, path = tmp_path / EVIL / "1", tmp_path / f"{EVIL}.foro"
    shutil.copytree(digits / "train" / "1", folder)
    image = folder / f"{EVIL}.png"
    image.write_bytes(next((digits / "test" / "1").glob("*.png")).read_bytes())
    (folder / f"bad{EVIL}.png").write_text("no image")
    harmless(foro("learn", path, folder.parent, *NEW))
    learned = foro("learn", path, digits / "train")
    harmless(learned)
    assert learned.code == 0
    harmless(foro("info", path))
    harmless(foro("predict", path, image), lines=1)
    assert foro("predict", path, image).out.count("\t") == 2
    harmless(foro("predict", path, image, "--csv", terminal=True), lines=2)
    harmless(foro("predict", path, folder, "--json"), lines=len(list(folder.iterdir())))
    assert foro("predict", path, image, terminal=True).out.count("\x1b") == 2  # bold, and no longer
    harmless(foro("evaluate", path, folder.parent))
    harmless(foro("forget", path, EVIL), lines=0)
    harmless(foro("forget", path, "1", "2"), lines=2)
    harmless(foro("export", path, tmp_path / f"{EVIL}.safetensors"), lines=2)
    harmless(foro("merge", path, path, "-o", tmp_path / f"more {EVIL}"), lines=1)
    harmless(foro("unlearn", path, folder.parent))
    harmless(foro("predict", path, tmp_path / f"gone {EVIL}"), lines=0)


def test_quiet_prints_results_and_errors_only(digits: Path, tmp_path: Path) -> None:
    path, nothing = tmp_path / "m.foro", Ran(0, "", "")
    train = write_digits(tmp_path / "train", 0, 20)
    assert foro("learn", path, train, "--set", "projection_dim=64", "--quiet") == nothing
    assert foro("forget", path, "1", "-q") == nothing
    (train / "3" / "bad.png").write_text("no image")
    assert foro("learn", path, train, "-q") == Ran(1, "", "")
    assert len(foro("predict", path, digits / "test" / "3", "-q").lines) == 3
    assert foro("forget", path, "77", "-q").err.startswith("foro: '77' is not known")
    assert "learned " in foro("learn", path, digits / "test").out  # the next command is not quiet


def test_a_verdict_on_an_adaptation_says_what_to_do(tmp_path: Path) -> None:
    path, settings = tmp_path / "m.foro", ["search_images=16", "generations=1", "population=2", "projection_dim=64"]
    chosen = [part for each in settings for part in ("--set", each)]
    ran = foro("learn", path, write_digits(tmp_path / "some", 0, 60), "--preset", "adapt", *chosen)
    (verdict,) = [line for line in ran.err.splitlines() if "adapted: cross-entropy" in line]
    assert "on images that the search did not see; the first lesson of a model decides that" in verdict
    assert verdict.endswith("for another decision, teach a new model")


def test_numbers_and_words_fit(tmp_path: Path, digits: Path) -> None:
    path = tmp_path / "m.foro"
    one = write_digits(tmp_path / "one", 1, 2)
    ran = foro("learn", path, one, "--set", "projection_dim=64", "--preset", "adapt")
    assert "1 image of 1 class is too few" in ran.err
    assert "accuracy  not measured: there is one class, and every answer would be right" in ran.lines
    assert ran.lines[-1] == f"{path} knows 1 class from 1 image"
    shown = foro("learn", path, write_digits(tmp_path / "some", 2, 12), "--held-out", 0).lines
    assert "accuracy  not measured: with --held-out 0 no image is held out" in shown
    shown = foro("learn", path, write_digits(tmp_path / "more", 20, 30), "--held-out", 0.2).out
    assert "not measured: too few images to hold 20% of them out" in shown
    assert [rate(each) for each in (0.0357, 2.5, 1234.5)] == [
        "0.036 images a second",
        "2.5 images a second",
        "1234 images a second",
    ]
    foro("export", path, tmp_path / "m.safetensors")
    one = foro("learn", tmp_path / "one.foro", tmp_path / "one", *NEW)
    assert one.code == 0
    foro("export", tmp_path / "one.foro", tmp_path / "one.safetensors")
    assert "it knows 1 label, but" in foro("info", tmp_path / "one.safetensors").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lern",), "foro: there is no command 'lern'; did you mean learn or unlearn?\n"),
        (("xyzzy",), "foro: there is no command 'xyzzy'; foro --help lists all\n"),
        (("backbone", "info", "nanno"), "foro: there is no backbone named 'nanno'; did you mean nano?\n"),
    ],
)
def test_what_was_mistyped_is_guessed(words: tuple[str, ...], said: str) -> None:
    ran = foro(*words)
    assert (ran.code, ran.out, ran.err) == (2, "", said)


def test_a_mistyped_backbone_is_guessed_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    ran = foro("backbone", "pull", "vit_tiny_patch16_224.augreg_in21kk")
    assert ran.code == 2
    assert "cannot be reached; did you mean vit_tiny_patch16_224.augreg_in21k" in ran.err


def test_fingerprints_that_differ_late_are_shown_where_they_differ(tmp_path: Path) -> None:
    save_checkpoint(tiny_checkpoint(), tmp_path / "vit")
    learner = Learner(tmp_path / "vit", policy="none", projection_dim=64)
    learner.learn(*textures(2))
    whole = learner.backbone.fingerprint
    wrong = whole[:40] + ("0" if whole[40] != "0" else "1") + whole[41:]
    learner.backbone._fingerprint = wrong
    learner.save(tmp_path / "m.foro")
    said = foro("predict", tmp_path / "m.foro", "x.png").err
    assert f"(weights …{wrong[40:52]}…)" in said
    assert f"(weights …{whole[40:52]}…)" in said
