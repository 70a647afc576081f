"""``foro learn``, ``forget``, ``unlearn``, ``merge`` and ``info`` as a user runs them, on a tiny backbone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from foro import Learner
from foro.backbones import load_backbone
from foro.durable import DurableLearner
from foro.errors import InputError
from foro.files import read_model
from tests.backbones.reference import save_checkpoint, tiny_checkpoint
from tests.command_line import foro
from tests.conftest import textures
from tests.durable.test_durable import same

SMALL = ("--policy", "none", "--set", "projection_dim=64")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random ViT of 32 px."""
    return save_checkpoint(tiny_checkpoint(), tmp_path_factory.mktemp("backbone") / "tiny")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders ``one`` and ``two`` of 60 images each, of two classes each; names of classes are any text."""
    root = tmp_path_factory.mktemp("pictures")
    names = {"texture 0": "7", "texture 1": "Ñandú ☃", "texture 2": "two words", "texture 3": "-dash"}
    for number, (image, label) in enumerate(zip(*textures(30), strict=True)):
        place = root / ("one" if label in ("texture 0", "texture 1") else "two") / names[label]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number}.png")
    return root


@pytest.fixture
def model(tmp_path: Path, tiny: Path, pictures: Path) -> Path:
    """A model that has learned ``one``."""
    ran = foro("learn", tmp_path / "m.foro", pictures / "one", "--backbone", tiny, *SMALL, "--held-out", 0)
    assert ran.code == 0, ran.err
    return tmp_path / "m.foro"


def told(*arguments: object, stdin: str = "", code: int = 0) -> Any:
    """What a command says as JSON."""
    ran = foro(*arguments, "--json", stdin=stdin)
    assert ran.code == code, ran.err
    return json.loads(ran.out)


def run(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    code = "from foro.cli import main; main()"
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, **more)


def test_learn_makes_a_model_and_then_adds_to_it(tmp_path: Path, tiny: Path, pictures: Path) -> None:
    path = tmp_path / "m.foro"
    first = foro("learn", path, pictures / "one", "--backbone", tiny, *SMALL, "--held-out", 0.2)
    assert (first.code, first.err) == (0, "")
    learned, new, accuracy, *_ = (line for line in first.lines if not line.startswith("time "))  # of a slow machine
    assert learned.startswith("learned   60 images of 2 classes in ")
    assert new == "new       7, Ñandú ☃"
    assert accuracy.startswith("accuracy  not known before, ")
    assert accuracy.endswith(" after, on 12 images of this lesson that were held out")
    assert first.lines[-1] == f"{path} knows 2 classes from 60 images"
    second = told("learn", path, pictures / "two", "--held-out", 0.5)
    assert (second["samples"], second["held_out"], second["classes"]) == (60, 30, 4)
    assert second["new_labels"] == ["-dash", "two words"]
    assert second["accuracy_before"] is None
    assert second["accuracy_after"] > 0.5
    third = told("learn", path, pictures / "two", "--held-out", 0.5, "--again")
    assert third["accuracy_before"] > 0.5
    assert third["new_labels"] == []
    assert third["expected_accuracy"] > 0.5
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.foro", "m.foro.undo"]
    learner = Learner.load(path)
    assert learner.head.counts == {"7": 30, "Ñandú ☃": 30, "-dash": 60, "two words": 60}
    assert [event.what for event in learner.ledger.events] == ["learn"] * 3


def test_too_few_images_are_not_measured(model: Path, pictures: Path) -> None:
    ran = foro("learn", model, pictures / "two")
    assert any(line.startswith("accuracy  not measured: too few images to hold 10% of them out") for line in ran.lines)


def test_tables_lines_and_streams_teach_the_same(model: Path, tiny: Path, pictures: Path, tmp_path: Path) -> None:
    rows = [(image, image.parent.name) for image in sorted((pictures / "two").glob("*/*.png"))]
    objects = "".join(json.dumps({"path": str(path), "label": label}) + "\n" for path, label in rows)
    (tmp_path / "two.csv").write_text("path,label\n" + "".join(f"{path},{label}\n" for path, label in rows))
    (tmp_path / "two.jsonl").write_text(objects)
    for number, data in enumerate([tmp_path / "two.csv", tmp_path / "two.jsonl", "-"]):
        copy = Path(shutil.copy(model, tmp_path / f"{number}.foro"))
        report = told("learn", copy, data, "--held-out", 0, "--chunk", 25, stdin=objects)
        assert (report["samples"], report["classes"]) == (60, 4)
        folder = Path(shutil.copy(model, tmp_path / f"folder {number}.foro"))
        told("learn", folder, pictures / "two", "--held-out", 0)
        one, other = Learner.load(copy), Learner.load(folder)
        assert len(one.ledger.events) == (4 if data == "-" else 2)
        assert one.head.counts == other.head.counts
        images, _ = textures(3, seed=9)
        order = [one.labels.index(label) for label in other.labels]
        assert np.allclose(one.scores(images)[:, order], other.scores(images), rtol=1e-3, atol=1e-4)


def test_a_stream_keeps_what_came_before_a_mistake(model: Path, pictures: Path, tmp_path: Path) -> None:
    images = sorted((pictures / "two").glob("*/*.png"))[:6]
    lines = [json.dumps({"path": str(path), "label": "x"}) for path in images]
    lines[4] = "hello"
    ran = foro("learn", model, "-", "--chunk", 2, stdin="\n".join(lines))
    assert ran.code == 2
    assert ran.err == "foro: line 5 of the standard input is not JSON; 4 images of earlier lines are learned\n"
    assert Learner.load(model).head.counts["x"] == 4
    assert foro("learn", model, "-").err == "foro: the standard input names no images\n"
    gone = json.dumps({"path": str(tmp_path / "gone.png"), "label": "x"})
    mixed = told("learn", model, "-", "--chunk", 1, stdin=f"{lines[0]}\n{gone}\n", code=1)
    assert (mixed["samples"], mixed["known"], len(mixed["skipped"])) == (0, 1, 1)
    assert foro("learn", model, "-", stdin=gone).err == f"foro: there is no image {tmp_path / 'gone.png'}\n"


def test_settings_are_for_new_models(model: Path, tiny: Path, pictures: Path, tmp_path: Path) -> None:
    data, other = pictures / "one", tmp_path / "other.foro"
    assert foro("learn", other, data, "--backbone", tiny, *SMALL, "--seed", 5, "--held-out", 0).code == 0
    assert Learner.load(other).seed == 5
    for options, said in [
        (("--seed", 5), f"{model} was made with seed 0, which cannot be changed to 5"),
        (("--policy", "freeze"), "was made with policy none, which cannot be changed to freeze"),
        (("--set", "projection_dim=128"), "was made with projection_dim 64, which cannot be changed to 128"),
        (("--preset", "paper"), "was made with policy none"),
        (("--image-size", 64), "was made with image_size 32"),
        (("--precision", "int8"), "was made with precision float32, which cannot be changed to int8"),
        (("--set", "gamma=1"), "unknown setting 'gamma'"),
        (("--like", other), f"{model} is there already and not like {other}: their projections differ"),
        (("--set", "projection_dim=wide"), "projection_dim must be a whole number"),
        (("--set", "projection_dim"), "a setting is written name=value"),
        (("--backbone", "nano"), "was taught with vit_random.test"),
    ]:
        ran = foro("learn", model, data, *options)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert said in ran.err
    same = foro("learn", model, data, "--seed", 0, "--policy", "none", "--set", "projection_dim=64", "--held-out", 0)
    assert same.code == 0
    assert "population" in foro("learn", "--settings").out


def test_a_model_keeps_the_precision_of_its_backbone(tmp_path: Path, tiny: Path, pictures: Path, model: Path) -> None:
    quantised, data = tmp_path / "int8.foro", pictures / "one"
    new = ("--backbone", tiny, *SMALL, "--precision", "int8", "--held-out", 0)
    assert foro("learn", quantised, data, *new).code == 0
    assert "vit_random.test at 32 px, int8\n" in foro("info", quantised).out
    assert foro("learn", quantised, pictures / "two", "--held-out", 0).code == 0  # without saying it again
    assert foro("learn", quantised, data, "--precision", "int8").code == 0
    exact = foro("learn", quantised, data, "--precision", "float32")
    assert "was made with precision int8, which cannot be changed to float32" in exact.err
    assert len(foro("predict", quantised, data, "--backbone", tiny).lines) == 60
    assert "their backbones differ" in foro("merge", model, quantised, "-o", tmp_path / "x.foro").err
    assert "export .safetensors" in foro("export", quantised, tmp_path / "x.onnx").err
    assert foro("export", quantised, tmp_path / "x.safetensors").code == 0
    with pytest.raises(InputError, match="was loaded with precision float32, not with int8"):
        Learner.load(quantised, load_backbone(tiny))


def test_a_long_lesson_says_before_what_it_will_cost(
    tmp_path: Path, tiny: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foro.cli.learn.LONG", 0.0)
    monkeypatch.setattr("foro.verbs.teach.MANY", 60)
    plain = foro("learn", tmp_path / "plain.foro", pictures / "one", "--backbone", tiny, *SMALL)
    assert "foro: 60 images to read, then about 0 s for features\n" in plain.err
    few = ("--set", "projection_dim=64", "--set", "generations=1", "--set", "population=2")
    how = ("--backbone", tiny, *few, "--policy", "evolve", "--adaptation", "prompt")
    adapted = foro("learn", tmp_path / "adapted.foro", pictures / "one", *how)
    assert "foro: 60 images to read, then about 0 s for features, 0 s for an adaptation\n" in adapted.err


def test_forget_undo_and_unlearn(model: Path, pictures: Path) -> None:
    foro("learn", model, pictures / "two", "--held-out", 0)
    before = Learner.load(model)
    assert foro("forget", model, "7", "Ñandú ☃").lines[0] == "forgotten: 7, Ñandú ☃"
    assert Learner.load(model).labels == ["-dash", "two words"]
    wrong = foro("forget", model, "--", "-dash", "two wordz")
    assert (wrong.code, wrong.err) == (2, "foro: 'two wordz' is not known; known labels are 'two words' and 1 more\n")
    assert Learner.load(model).labels == ["-dash", "two words"]  # none of them
    assert foro("forget", model, "7", "--undo").lines[0] == "known again: 7"
    assert told("forget", model, "Ñandú ☃", "--undo")["restored"] == ["Ñandú ☃"]
    same(Learner.load(model), before, exactly=False)
    assert "was not forgotten" in foro("forget", model, "7", "--undo").err
    gone = told("unlearn", model, pictures / "one")
    assert (gone["samples"], sorted(gone["gone"]), gone["classes"]) == (60, ["7", "Ñandú ☃"], 2)
    again = foro("unlearn", model, pictures / "one")
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert foro("unlearn", model, pictures / "two").lines[0].startswith("unlearned 60 images of 2 classes in ")
    assert Learner.load(model).labels == []


def test_rename_and_joining_two_labels(model: Path, pictures: Path, tiny: Path, tmp_path: Path) -> None:
    foro("learn", model, pictures / "two", "--held-out", 0)
    shown = foro("rename", model, "two words", "Zwei")
    assert shown.lines == ["renamed   two words to Zwei", f"Zwei has 30 images; {model} knows 4 classes"]
    joined = told("rename", model, "Zwei", "7")
    assert (joined["joined"], joined["samples"], joined["labels"]) == (True, 60, ["7", "Ñandú ☃", "-dash"])
    for words, said in [
        (("Zweii", "x"), "'Zweii' is not known; known labels are"),
        (("7", "7"), "'7' is called so already"),
        (("7", "a\nb"), "has a control character"),
    ]:
        ran = foro("rename", model, *words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert said in ran.err
    data = tmp_path / "as if"
    shutil.copytree(pictures / "one", data)
    shutil.copytree(pictures / "two" / "-dash", data / "-dash")
    for image in (pictures / "two" / "two words").iterdir():
        shutil.copy(image, data / "7")
    told("learn", tmp_path / "as if.foro", data, "--backbone", tiny, *SMALL, "--held-out", 0)
    images, _ = textures(3, seed=9)
    one, other = Learner.load(model), Learner.load(tmp_path / "as if.foro")
    order = [other.labels.index(label) for label in one.labels]
    assert np.allclose(one.scores(images), other.scores(images)[:, order], rtol=1e-3, atol=1e-4)
    assert [(event.what, event.samples) for event in one.ledger.events][-2:] == [("rename", 30), ("rename", 30)]
    assert set(one.ledger.taught) == set(one.labels)


def test_a_dry_run_says_what_would_happen_and_does_nothing(model: Path, pictures: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(pictures / "two", data)
    shutil.copytree(pictures / "one" / "7", data / "7")
    (data / "7" / "bad.png").write_text("no image")
    (data / "7" / "notes.txt").write_text("not an image either")
    shutil.copytree(pictures / "one" / "7", data / "ñandu_☃")
    before = model.read_bytes()
    ran = foro("learn", model, data, "--dry-run")
    assert ran.code == 1
    assert ran.lines == [
        f"{model} would learn 60 images of 2 classes:",
        "  -dash: 30 images, a new class",
        "  two words: 30 images, a new class",
        "already known: 30 images",
    ]
    assert "30 images were learned before with another label and would be left so; --relabel gives" in ran.err
    assert ".png: 7, now ñandu_☃\n" in ran.err
    assert "1 file was passed over (no image, not a regular file, or in no class folder):\n" in ran.err
    assert "notes.txt" in ran.err
    assert "1 image was skipped:\n" in ran.err
    relabelled = told("learn", model, data, "--dry-run", "--relabel", code=1)
    assert (relabelled["known"], relabelled["relabelled"]) == (30, 30)
    planned = told("learn", model, data, "--dry-run", "--again", code=1)
    assert "'ñandu_☃' is a new label and much like 'Ñandú ☃'" in planned["notes"][0]
    assert [each["label"] for each in planned["classes"]] == ["-dash", "7", "two words", "ñandu_☃"]
    assert planned["new_labels"] == ["-dash", "two words", "ñandu_☃"]
    assert len(planned["skipped"]) == len(planned["passed_over"]) == len(planned["notes"]) == 1
    assert model.read_bytes() == before
    told("learn", tmp_path / "new.foro", data, "--dry-run", code=1)
    lines = "".join(json.dumps({"path": str(path), "label": "x"}) + "\n" for path in (data / "7").glob("*.png"))
    streamed = told("learn", model, "-", "--dry-run", stdin=lines, code=1)
    assert (streamed["samples"], len(streamed["other_label"])) == (0, 30)
    again = foro("learn", model, pictures / "one", "--dry-run")
    assert (again.code, again.lines) == (0, [f"{model} would learn nothing new", "already known: 60 images"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "m.foro", "m.foro.undo"]
    report = told("learn", model, data, "--held-out", 0, "--again", code=1)  # which warns, too
    assert [report[name] for name in ("skipped", "passed_over", "notes")] == [
        planned[name] for name in ("skipped", "passed_over", "notes")
    ]


def test_a_dry_run_refuses_what_learning_would_refuse(model: Path, pictures: Path, tmp_path: Path) -> None:
    ran = foro("learn", model, pictures / "one", "--dry-run", "--seed", 1)
    assert (ran.code, "seed 0, which cannot be changed to 1" in ran.err) == (2, True)
    (tmp_path / "data" / "7").mkdir(parents=True)
    (tmp_path / "data" / "7" / "bad.png").write_text("no image")
    for path in (model, tmp_path / "new.foro"):
        ran = foro("learn", path, tmp_path / "data", "--dry-run", "--strict")
        assert (ran.code, "bad.png cannot be read as an image" in ran.err) == (2, True)


def test_another_backbone_that_is_not_there_is_not_asked_for_first(model: Path, pictures: Path) -> None:
    ran = foro("learn", model, pictures / "one", "--backbone", "nanoo")
    assert ran.code == 2
    assert ran.err.startswith(f"foro: {model} needs vit_random.test: leave the backbone out, or say where that is (")
    ran = foro("learn", model, pictures / "one", "--backbone", "nano")
    assert (ran.code, ": leave the backbone out, or teach a new model\n" in ran.err) == (2, True)


def test_a_label_that_is_a_number_is_found(tmp_path: Path, tiny: Path) -> None:
    images, _ = textures(2)
    learner = Learner(tiny, policy="none", projection_dim=64)
    learner.learn(images, [1, 2, "3", 4] * 2)
    learner.save(tmp_path / "m.foro")
    foro("forget", tmp_path / "m.foro", "2", "1")
    assert Learner.load(tmp_path / "m.foro").labels == ["3", 4]
    foro("forget", tmp_path / "m.foro", "3")
    assert Learner.load(tmp_path / "m.foro").labels == [4]


def test_a_folder_that_has_grown_is_taught_again(model: Path, pictures: Path, tmp_path: Path) -> None:
    first = told("learn", model, pictures / "two", "--held-out", 0)
    shutil.copytree(pictures / "two", tmp_path / "grown")
    for number, image in enumerate(textures(2, seed=9)[0][2::4]):
        Image.fromarray(image).save(tmp_path / "grown" / "two words" / f"new {number}.png")
    ran = foro("learn", model, tmp_path / "grown", "--held-out", 0)
    assert ran.lines[0].startswith("learned   2 images of 1 class in ")
    assert "already known  60 images" in ran.lines
    ran = foro("learn", model, tmp_path / "grown", "--held-out", 0)
    assert ran.lines[0].startswith("learned   nothing new in ")
    assert "already known  62 images" in ran.lines
    assert ran.lines[-1] == f"{model} knows 4 classes from 122 images"
    assert abs(told("info", model)["expected_accuracy"] - first["expected_accuracy"]) < 0.05
    twice = told("learn", model, tmp_path / "grown", "--held-out", 0, "--again")
    assert (twice["samples"], twice["known"]) == (62, 0)


def test_a_picture_with_another_label_is_named_and_can_be_corrected(
    model: Path, tiny: Path, pictures: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved" / "two words"
    moved.mkdir(parents=True)
    wrong = sorted((pictures / "one" / "7").iterdir())[:3]
    for path in wrong:
        shutil.copy(path, moved)
    ran = foro("learn", model, tmp_path / "moved")
    assert ran.code == 0
    assert "3 images were learned before with another label and left so; --relabel gives the new one:" in ran.err
    assert f"{moved / wrong[0].name}: 7, now two words" in ran.err
    assert Learner.load(model).head.counts == {"7": 30, "Ñandú ☃": 30}
    ran = foro("learn", model, tmp_path / "moved", "--relabel")
    assert "relabelled  3 images" in ran.lines
    told("unlearn", model, tmp_path / "moved")
    assert Learner.load(model).head.counts == {"7": 27, "Ñandú ☃": 30}
    assert foro("learn", model, tmp_path / "moved", "--relabel", "--again").code == 2


def test_undo_takes_back_one_command_after_the_other(model: Path, pictures: Path) -> None:
    one = Learner.load(model)
    foro("learn", model, pictures / "two")
    two = Learner.load(model)
    foro("forget", model, "7")
    assert foro("undo", model).lines[0] == "undone    forget of 30 images: 7"
    same(Learner.load(model), two)
    ran = foro("undo", model)
    assert ran.lines[0] == "undone    learn of 60 images: -dash, two words"
    assert ran.lines[1] == "left      1 more change that can be taken back"
    same(Learner.load(model), one)
    last = told("undo", model)
    assert (last["left"], last["labels"], last["samples"]) == (0, [], 0)
    ran = foro("undo", model)
    assert (ran.code, ran.err) == (2, f"foro: {model} has no change left that can be taken back\n")
    assert foro("learn", model, pictures / "one").lines[-1] == f"{model} knows 2 classes from 60 images"


def test_merging_what_is_known_adds_nothing_and_says_so(model: Path, pictures: Path, tmp_path: Path) -> None:
    ran = foro("merge", model, model, "-o", tmp_path / "same.foro")
    assert (ran.code, ran.lines[-1]) == (0, f"{tmp_path / 'same.foro'} knows 2 classes from 60 images")
    assert f"{model} adds nothing: all of its images are known already" in ran.err
    more = tmp_path / "more.foro"
    shutil.copy(model, more)
    foro("learn", more, pictures / "two", "--held-out", 0)
    for number, models in enumerate([(model, more), (more, model)]):
        out = tmp_path / f"{number}.foro"
        assert foro("merge", *models, "-o", out).lines[-1] == f"{out} knows 4 classes from 120 images"
    part = tmp_path / "part.foro"
    folder = tmp_path / "part" / "two words"
    folder.mkdir(parents=True)
    for path in (*sorted((pictures / "two" / "two words").iterdir())[:4], *sorted(pictures.glob("one/7/*"))[:1]):
        shutil.copy(path, folder)
    assert foro("learn", part, folder.parent, "--like", model, "--held-out", 0).code == 0
    ran = foro("merge", model, part, "-o", tmp_path / "both.foro")
    assert ran.code == 2
    assert "both have learned 1 image, which would count twice in one model" in ran.err
    ran = foro("merge", model, part, "-o", tmp_path / "both.foro", "--again")
    assert ran.lines[-1].endswith("knows 3 classes from 65 images")


def test_merge_is_as_if_one_had_learned_all(tmp_path: Path, tiny: Path, pictures: Path, model: Path) -> None:
    north, out = tmp_path / "north.foro", tmp_path / "all.foro"
    assert foro("learn", north, pictures / "two", "--like", model, "--held-out", 0).code == 0
    shown = foro("merge", model, north, "-o", out)
    assert shown.lines == [f"{out} knows 4 classes from 120 images"]
    foro("learn", model, pictures / "two", "--held-out", 0)
    merged, both = Learner.load(out), Learner.load(model)
    assert merged.head.counts == both.head.counts
    images, _ = textures(3, seed=9)
    assert np.allclose(merged.scores(images), both.scores(images), rtol=1e-3, atol=1e-4)
    assert [event.what for event in merged.ledger.events] == ["learn", "merge"]
    again = foro("merge", model, north, "-o", out)
    assert (again.code, again.err) == (2, f"foro: {out} is there already: give the merged model another name\n")
    assert foro("merge", model, "-o", tmp_path / "x.foro").err == "foro: it takes at least two models to merge\n"


def test_merge_says_what_differs(tmp_path: Path, tiny: Path, pictures: Path, model: Path) -> None:
    other_weights = save_checkpoint(tiny_checkpoint(seed=1), tmp_path / "other")
    data = pictures / "two"
    cases = {
        "backbones": ("--backbone", other_weights, *SMALL),
        "projections": ("--backbone", tiny, *SMALL, "--seed", 1),
        "image sizes": ("--backbone", tiny, *SMALL, "--image-size", 64),
    }
    for number, (difference, options) in enumerate(cases.items()):
        other = tmp_path / f"{number}.foro"
        assert foro("learn", other, data, *options, "--held-out", 0).code == 0
        ran = foro("merge", model, other, "-o", tmp_path / "x.foro")
        assert ran.code == 2
        assert f"{model} and {other} cannot be merged: their {difference} differ" in ran.err
        assert not (tmp_path / "x.foro").exists()


def test_info_tells_everything(model: Path, pictures: Path) -> None:
    foro("learn", model, pictures / "two", "--held-out", 0)
    foro("forget", model, "7")
    facts = told("info", model)
    assert facts["samples"] == 120
    assert [(each["label"], each["samples"]) for each in facts["classes"]] == [
        ("Ñandú ☃", 30),
        ("-dash", 30),
        ("two words", 30),
    ]
    assert all(each["last_taught"].startswith("20") for each in facts["classes"])
    assert facts["forgotten"] == ["7"]
    assert facts["backbone"]["name"] == "vit_random.test"
    assert facts["settings"]["projection_dim"] == 64
    assert [(event["what"], event["samples"]) for event in facts["log"]] == [
        ("learn", 60),
        ("learn", 60),
        ("forget", 30),
    ]
    assert [event["number"] for event in facts["log"]] == [1, 2, 3]
    assert facts["undo"]["changes"] == 3
    assert facts["undo"]["bytes"] == sum(each.stat().st_size for each in Path(f"{model}.undo").iterdir())
    assert facts["bytes"] == model.stat().st_size
    shown = foro("info", model, "--log", 2).out
    for text in (
        "Ñandú ☃",
        "two words",
        "forgotten 7",
        "the last 3 can be taken back; ",
        "vit_random.test at 32 px",
        "forget",
        "1 earlier",
        "history",
    ):
        assert text in shown
    assert "undo      the last 3 can be taken back; " in shown
    assert "history" not in foro("info", model, "--log", 0).out
    assert foro("info", model.with_name("none.foro")).err.startswith("foro: there is no file")


def test_info_needs_no_backbone(tmp_path: Path, pictures: Path) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path / "vit")
    foro("learn", tmp_path / "m.foro", pictures / "one", "--backbone", folder, *SMALL, "--held-out", 0)
    folder.rename(tmp_path / "moved")
    assert told("info", tmp_path / "m.foro")["samples"] == 60
    missing = foro("forget", tmp_path / "m.foro", "7")
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    assert foro("forget", tmp_path / "m.foro", "7", "--backbone", tmp_path / "moved").code == 0


def test_info_counts_what_is_only_in_the_journal(model: Path) -> None:
    images, labels = textures(2, seed=9)
    durable = DurableLearner.open(model)
    durable.learn(images, labels)
    durable.close()
    facts = told("info", model)
    assert (facts["samples"], len(facts["classes"])) == (68, 6)
    assert facts["unsaved_changes"] == 1
    assert facts["undo"]["changes"] == 2
    assert "journal   1 change that the file does not have yet" in foro("info", model).lines


def test_the_next_command_says_what_it_finished(model: Path) -> None:
    images, labels = textures(2, seed=9)
    durable = DurableLearner.open(model)
    durable.learn(images, labels)
    durable.close()
    ran = foro("forget", model, "7")
    assert ran.err == f"foro: {model}: a change that was not saved yet came from the journal\n"
    assert ran.lines[-1] == f"{model} knows 5 classes"


def test_another_writer_is_waited_for_or_refused(model: Path) -> None:
    with DurableLearner.open(model):
        refused = foro("forget", model, "7", "--no-wait")
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "is being changed by another process" in refused.err
    assert foro("forget", model, "7", "--no-wait").code == 0


def test_an_image_that_vanishes_leaves_the_model_as_it_was(model: Path, pictures: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    rows = [(str(image), image.parent.name) for image in sorted((pictures / "two").glob("*/*.png"))]
    (tmp_path / "two.csv").write_text("".join(f"{path},{label}\n" for path, label in [*rows, ("gone.png", "x")]))
    ran = foro("learn", model, tmp_path / "two.csv", "--strict")
    assert (ran.code, ran.err) == (2, f"foro: there is no image {tmp_path / 'gone.png'}\n")
    assert model.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.foro", "m.foro.undo", "two.csv"]


@pytest.mark.parametrize(("limit", "survives"), [(2_000, False), (30_000, True)])
def test_a_full_disk_is_one_sentence_and_the_old_model_stays(
    model: Path, pictures: Path, limit: int, survives: bool
) -> None:
    """The kernel itself refuses to write: the journal first, or the model file when the journal still fitted."""
    resource = pytest.importorskip("resource")
    before = model.read_bytes()
    assert len(before) > limit

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    ran = run("learn", model, pictures / "two", "--held-out", "0", preexec_fn=full)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (3 if survives else 2, "", 1)
    assert "cannot be written: File too large" in ran.stderr
    assert model.read_bytes() == before
    assert ("is safe in" in ran.stderr) == survives
    left = {each.name for each in model.parent.iterdir()}
    assert left == ({"m.foro", "m.foro.journal", "m.foro.undo"} if survives else {"m.foro", "m.foro.undo"})
    facts = told("info", model)
    assert facts["samples"] == (120 if survives else 60)
    again = told("learn", model, pictures / "two", "--held-out", "0")  # there is room again
    assert (again["samples"], again["known"]) == ((0, 60) if survives else (60, 0))
    assert Learner.load(model).head.samples == 120


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, tiny: Path, pictures: Path) -> None:
    (tmp_path / "file").touch()
    ran = foro("learn", tmp_path / "file" / "m.foro", pictures / "one", "--backbone", tiny, *SMALL)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "cannot be written" in ran.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_one_sentence(model: Path, pictures: Path) -> None:
    before = model.read_bytes()
    model.parent.chmod(0o555)
    try:
        ran = foro("learn", model, pictures / "two")
        assert foro("info", model).code == 0
    finally:
        model.parent.chmod(0o755)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "cannot be written: Permission denied" in ran.err
    assert model.read_bytes() == before


def test_a_killed_command_is_finished_or_discarded_by_the_next(model: Path, pictures: Path) -> None:
    code = "from foro.cli import main; main()"
    words = [sys.executable, "-c", code, "learn", str(model), "-", "--chunk", "2"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    assert process.stdin is not None
    for image in sorted((pictures / "two").glob("*/*.png"))[:2]:
        process.stdin.write(json.dumps({"path": str(image), "label": "killed"}).encode() + b"\n")
    process.stdin.flush()
    while Learner.load(model).head.samples == 60:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    ran = foro("forget", model, "7")
    assert "came from the journal" in ran.err
    assert Learner.load(model).head.counts == {"Ñandú ☃": 30, "killed": 2}
    assert sorted(each.name for each in model.parent.iterdir()) == ["m.foro", "m.foro.undo"]


def test_one_flipped_bit_is_found_by_verify_and_before_the_next_lesson(model: Path, pictures: Path) -> None:
    foro("learn", model, pictures / "two", "--held-out", 0)
    assert "verified  every number is what was written" in foro("info", model, "--verify").out
    assert told("info", model, "--verify")["verified"]
    whole = model.read_bytes()
    place = whole.index(read_model(model)[0]["encoder.gram"].tobytes()) + 5000
    damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    model.write_bytes(damaged)
    assert foro("predict", model, pictures / "two").code == 0  # which does not need G
    for command in (("info", model, "--verify"), ("learn", model, pictures / "one", "--again")):
        ran = foro(*command)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert f"{model} is damaged: encoder.gram is not what was written; use a copy of the file" in ran.err
    assert model.read_bytes() == damaged


def test_help_has_examples_and_exit_codes() -> None:
    shown = " ".join(foro("--help").out.split())
    assert "Exit codes: 0 all went well, 1 done but some images" in shown
    assert "3 done but the model file could not be written, as on a full disk" in shown
    for verb in ("learn", "forget", "unlearn", "rename", "merge", "info"):
        shown = foro(verb, "--help").out
        assert f"foro {verb} " in shown
        assert "--json" in shown


def test_a_new_model_with_nano_hears_once_of_larger_backbones(tmp_path: Path, pictures: Path, tiny: Path) -> None:
    usual, told_of = (*SMALL, "--held-out", 0), "--backbone vit_tiny_patch16_224.augreg_in21k_ft_in1k  (22 MB"
    first = foro("learn", tmp_path / "m.foro", pictures / "one", *usual)
    assert first.err.count("--backbone vit_") == 3
    assert told_of in first.err
    again = foro("learn", tmp_path / "m.foro", pictures / "two", "--held-out", 0)
    assert (first.code, again.code, again.err) == (0, 0, "")
    for number, more in enumerate((("--json",), ("--quiet",), ("--backbone", tiny), ("--backbone", "nano"))):
        other = foro("learn", tmp_path / f"{number}.foro", pictures / "one", *usual, *more)
        assert (other.code, told_of in other.err) == (0, False)
