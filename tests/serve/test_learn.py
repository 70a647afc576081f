from __future__ import annotations

import asyncio
import base64
import io
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from PIL import Image

from foro.backbones import Backbone
from foro.durable import DurableLearner
from foro.files import thumbnails
from foro.learner import Learner
from foro.serve.problems import Problem
from tests.conftest import textures
from tests.serve.running import CLASSES, check_problem, form, held_up, learn, predict, running, stripes, teach_all


def counts(client: httpx.Client) -> dict[str, int]:
    return {each["label"]: each["count"] for each in client.get("/v1/classes").json()["classes"]}


def test_what_is_learned_is_known_at_once(fresh: httpx.Client) -> None:
    for number, label in enumerate(CLASSES):
        answer = learn(fresh, label, stripes(number, 4)).json()
        assert (answer["label"], answer["learned"], answer["count"]) == (label, 4, 4)
        assert (answer["samples"], answer["skipped"], answer["replayed"]) == (4 * number + 4, [], False)
        assert predict(fresh, stripes(number, 1, seed=1)).json()["results"][0]["label"] == label
    assert answer["accuracy"]["overall"] == fresh.get("/v1/classes").json()["accuracy"] > 0.5
    assert learn(fresh, "flat", stripes(0, 2, seed=2)).json()["count"] == 6


def test_images_that_cannot_be_read_are_skipped(fresh: httpx.Client) -> None:
    good = stripes(0, 2)
    answer = learn(fresh, "flat", [b"hello", good[0], b"", good[1]]).json()
    assert (answer["learned"], answer["count"]) == (2, 2)
    assert [each["index"] for each in answer["skipped"]] == [0, 2]
    assert "no bytes" in answer["skipped"][1]["detail"]
    problem = check_problem(learn(fresh, "steep", [b"hello", b""]), 422, "unreadable-image")
    assert [each["index"] for each in problem["skipped"]] == [0, 1]
    assert counts(fresh) == {"flat": 2}


def test_learns_from_json_too(fresh: httpx.Client) -> None:
    encoded = [base64.b64encode(image).decode() for image in stripes(0, 2)]
    assert fresh.post("/v1/learn", json={"label": "flat", "images": encoded}).json()["learned"] == 2


@pytest.mark.parametrize(
    "label", ["a/b", "/", "//x/../restore", "restore", "Ünï çode", "🐈‍⬛", "a%2Fb", "?x=1#y", "<b>", "a b"]
)
def test_any_text_is_a_label(fresh: httpx.Client, label: str) -> None:
    assert learn(fresh, label, stripes(0, 1)).json()["label"] == label
    assert counts(fresh) == {label: 1}
    where = f"/v1/classes/{quote(label, safe='')}"
    assert fresh.delete(where).json() == {"label": label, "classes": 0}
    assert fresh.get("/v1/classes").json()["removed"] == [label]
    assert fresh.post(f"{where}/restore").json() == {"label": label, "classes": 1}
    assert counts(fresh) == {label: 1}


@pytest.mark.parametrize(
    "label", ["", "  ", "x" * 201, "a\nb", "a\x00b", ".", "..", "\x7f", "x\u2028y", "a\u200bb", "\u202ea"]
)
def test_what_is_no_label_is_told(client: httpx.Client, label: str) -> None:
    encoded = [base64.b64encode(stripes(0, 1)[0]).decode()]
    check_problem(client.post("/v1/learn", json={"label": label, "images": encoded}), 422, "bad-label")


@pytest.mark.parametrize("label", [None, 3, ["x"], {}])
def test_a_label_must_be_text(client: httpx.Client, label: object) -> None:
    encoded = [base64.b64encode(stripes(0, 1)[0]).decode()]
    check_problem(client.post("/v1/learn", json={"label": label, "images": encoded}), 422, "bad-label")
    check_problem(client.post("/v1/learn", files=form(stripes(0, 1))), 422, "bad-label")
    broken = b'{"label": "\\ud800", "images": ["aGk="]}'
    headers = {"content-type": "application/json"}
    check_problem(client.post("/v1/learn", content=broken, headers=headers), 422, "bad-label")


def test_white_space_and_ways_to_write_a_letter_do_not_matter(fresh: httpx.Client) -> None:
    for number, label in enumerate(("café", "  café ", "cafe\u0301")):
        assert learn(fresh, label, stripes(0, 1, seed=number)).json()["label"] == "café"
    assert counts(fresh) == {"café": 3}


def test_the_same_key_learns_once_and_answers_the_same(fresh: httpx.Client) -> None:
    images = [*stripes(0, 3), b"hello"]
    first = learn(fresh, "flat", images, **{"Idempotency-Key": "monday"}).json()
    learn(fresh, "steep", stripes(1, 2))
    again = learn(fresh, "flat", images, **{"Idempotency-Key": "monday"}).json()
    assert not first["replayed"]
    assert again["replayed"]
    assert {**again, "accuracy": None, "replayed": False} == {**first, "accuracy": None}
    assert counts(fresh) == {"flat": 3, "steep": 2}
    for label, other in (("steep", images), ("flat", stripes(0, 3, seed=9))):
        check_problem(learn(fresh, label, other, **{"Idempotency-Key": "monday"}), 422, "key-reused")
    assert counts(fresh) == {"flat": 3, "steep": 2}


def test_what_is_known_is_not_learned_again_and_can_be_corrected(fresh: httpx.Client) -> None:
    learn(fresh, "flat", stripes(0, 3))
    answer = learn(fresh, "flat", [b"hello", *stripes(0, 3), *stripes(0, 1, seed=5)]).json()
    assert (answer["learned"], answer["known"], answer["count"], answer["samples"]) == (1, 3, 4, 4)
    assert answer["known_at"] == [1, 2, 3]
    assert learn(fresh, "flat", stripes(0, 3)).json()["learned"] == 0
    wrong = [b"hello", *stripes(1, 1), *stripes(0, 1)]
    answer = learn(fresh, "steep", wrong).json()
    assert answer["other_label"] == [{"index": 2, "label": "flat"}]
    assert counts(fresh) == {"flat": 4, "steep": 1}
    answer = fresh.post("/v1/learn?relabel=true", data={"label": "steep"}, files=form(wrong)).json()
    assert (answer["learned"], answer["known"], answer["relabelled"], answer["count"]) == (0, 1, 1, 2)
    assert counts(fresh) == {"flat": 3, "steep": 2}
    answer = fresh.post("/v1/learn?again=true", data={"label": "steep"}, files=form(stripes(1, 1))).json()
    assert (answer["learned"], answer["known"], answer["count"]) == (1, 0, 3)


def test_any_lesson_can_be_taken_back(tmp_path: Path, tiny_backbone: Backbone) -> None:
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    asked = stripes(0, 3, seed=9) + stripes(1, 3, seed=9)
    with (
        running(tmp_path / "with", tiny_backbone) as (client, _),
        running(tmp_path / "without", tiny_backbone) as (other, _),
    ):
        for each in (client, other):
            teach_all(each)
        wrong = stripes(0, 4, seed=5)
        learn(client, "steep", wrong)
        for each in (client, other):
            learn(each, "flat", stripes(0, 2, seed=6))

        def unlearn(label: str, images: list[bytes], key: str = "mistake") -> httpx.Response:
            return client.post(
                "/v1/unlearn", data={"label": label}, files=form(images), headers={"Idempotency-Key": key}
            )

        check_problem(unlearn("flat", wrong, "1"), 422, "never-learned")
        check_problem(unlearn("nothing", wrong, "2"), 422, "never-learned")
        check_problem(unlearn("steep", [*wrong, b"no image"], "3"), 422, "unreadable-image")
        answer = unlearn("steep", wrong).json()
        assert answer == {"label": "steep", "unlearned": 4, "count": 6, "samples": 20, "replayed": False}
        assert unlearn("steep", wrong).json() == {**answer, "replayed": True}
        check_problem(unlearn("steep", wrong[:1]), 422, "key-reused")
        ours, theirs = (predict(each, asked).json()["results"] for each in (client, other))
        assert [each["label"] for each in ours] == [each["label"] for each in theirs]
        assert [each["confidence"] for each in ours] == pytest.approx([each["confidence"] for each in theirs], abs=1e-5)


def test_the_last_change_can_be_taken_back(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone) as (client, _):
        check_problem(client.post("/v1/undo"), 409, "nothing-to-undo")
        teach_all(client)
        before = predict(client, stripes(0, 3, seed=1)).json()
        client.delete("/v1/classes/steep")
        (last, *_) = client.get("/v1/classes").json()["undo"]
        assert (last["what"], last["samples"], last["labels"]) == ("forget", 6, ["steep"])
        for replayed in (False, True):
            answer = client.post("/v1/undo", headers={"Idempotency-Key": "once"}).json()
            assert answer == {"undone": last, "left": 3, "classes": 3, "samples": 18, "replayed": replayed}
        after = predict(client, stripes(0, 3, seed=1)).json()
        assert after["model_version"] > before["model_version"]
        for one, other in zip(after["results"], before["results"], strict=True):
            assert one["label"] == other["label"]
            assert one["confidence"] == pytest.approx(other["confidence"], abs=2e-6)
    with running(tmp_path, tiny_backbone) as (client, _):  # after another start, too
        assert client.post("/v1/undo").json()["undone"]["labels"] == [CLASSES[2]]
        assert list(counts(client)) == list(CLASSES[:2])
        assert [event["what"] for event in client.get("/v1/classes").json()["undo"]] == ["learn", "learn"]


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "tab\there"])
def test_a_bad_key_is_told(client: httpx.Client, key: str) -> None:
    check_problem(learn(client, "flat", stripes(0, 1), **{"Idempotency-Key": key}), 422, "bad-request")


def test_thumbnails_are_kept_if_asked_for_and_go_with_what_is_taken_back(
    tmp_path: Path, tiny_backbone: Backbone
) -> None:
    folder = tmp_path / "stripes.foro.thumbnails"
    images = stripes(0, 3)
    with running(tmp_path, tiny_backbone) as (client, _):
        learn(client, "flat", images)
        assert not folder.exists()
        assert client.get("/v1/thumbnails/flat").json() == {"thumbnails": []}
    with running(tmp_path, tiny_backbone, keep_thumbnails=True) as (client, _):
        assert client.get("/v1/classes").json()["thumbnails"]
        learn(client, "flat", stripes(0, 2, seed=1))
        learn(client, "a/b", stripes(1, 2))
        (first, second) = client.get("/v1/thumbnails/a%2Fb").json()["thumbnails"]
        assert first != second
        with Image.open(io.BytesIO(base64.b64decode(first.partition(",")[2]))) as image:
            assert image.format == "JPEG"
            assert max(image.size) <= thumbnails.SIDE
        assert len(list(folder.iterdir())) == 4
        client.post("/v1/undo")
        assert client.get("/v1/thumbnails/a%2Fb").json() == {"thumbnails": []}
        assert len(list(folder.iterdir())) == 2
    with DurableLearner.open(tmp_path / "stripes.foro", backbone=tiny_backbone) as durable:  # by any other way
        taken = [Image.open(io.BytesIO(data)) for data in stripes(0, 2, seed=1)]
        durable.unlearn(taken, ["flat", "flat"])
    assert not folder.exists()


def test_thumbnails_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = thumbnails.Thumbnails(tmp_path / "m.foro")
    noise = np.random.default_rng(0).integers(0, 256, (5, 300, 200, 3), dtype=np.uint8)
    monkeypatch.setattr(thumbnails, "MOST_BYTES", 20_000)
    kept.keep([Image.fromarray(each) for each in noise], np.arange(80, dtype=np.uint8).reshape(5, 16))
    sizes = [path.stat().st_size for path in kept.folder.iterdir()]
    assert 0 < len(sizes) < 5
    assert sum(sizes) <= 20_000


def test_many_at_once_are_all_learned(fresh: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        sent = [(label, number) for number, label in enumerate(CLASSES)] * 8
        answers = list(
            pool.map(
                lambda each: learn(fresh, each[0], stripes(each[1], 1), **{"Idempotency-Key": "one" + each[0]}), sent
            )
        )
    assert all(answer.status_code == 200 for answer in answers)
    assert sum(not answer.json()["replayed"] for answer in answers) == 3
    assert counts(fresh) == dict.fromkeys(CLASSES, 1)


def test_learning_never_blocks_predictions(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone) as (client, service):
        teach_all(client)
        may_end = held_up(service)
        with ThreadPoolExecutor(1) as pool:
            lesson = pool.submit(learn, client, "new", stripes(0, 1, seed=5))
            for _ in range(20):
                answer = predict(client, stripes(1, 2, seed=1)).json()
                assert [result["label"] for result in answer["results"]] == ["steep", "steep"]
                assert answer["model_version"] == 3
            assert not lesson.done()
            may_end.set()
            assert lesson.result().json()["learned"] == 1
        assert predict(client, stripes(1, 1)).json()["model_version"] == 4


def test_decoding_what_is_to_be_learned_never_blocks_predictions(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone) as (client, service):
        teach_all(client)
        decode, may_end = service.decode, threading.Event()

        def slow(data: bytes | None) -> Image.Image | Problem:
            may_end.wait()
            return decode(data)

        slow.check = decode.check  # type: ignore[attr-defined]
        service.decode = slow  # type: ignore[assignment]
        with ThreadPoolExecutor(1) as pool:
            lesson = pool.submit(learn, client, "new", stripes(0, 9, seed=5))
            while service.admission.images < 9:
                threading.Event().wait(0.005)
            for _ in range(5):
                assert predict(client, stripes(1, 2, seed=1)).json()["results"][0]["label"] == "steep"
            assert not lesson.done()
            may_end.set()
            assert lesson.result().json()["learned"] == 9


def test_whole_numbers_as_labels_are_found(tmp_path: Path, tiny_backbone: Backbone) -> None:
    images, _ = textures(4, classes=2)
    learner = Learner(tiny_backbone, policy="none", projection_dim=64)
    learner.learn(images, [3, 7] * 4)
    learner.save(tmp_path / "stripes.foro")
    with running(tmp_path, tiny_backbone) as (client, service):
        assert learn(client, "3", stripes(0, 1, seed=5)).json()["count"] == 5
        assert counts(client) == {"3": 5, "7": 4}
        assert client.delete("/v1/classes/7").json() == {"label": "7", "classes": 1}
        assert service.published.labels == (3,)
        assert client.post("/v1/classes/7/restore").status_code == 200


def test_what_was_learned_is_in_the_model_file_after_the_end(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        before = predict(client, stripes(0, 3, seed=1)).json()["results"]
    assert not (tmp_path / "stripes.foro.journal").exists()
    assert Learner.load(tmp_path / "stripes.foro", tiny_backbone).head.samples == 18
    with running(tmp_path, tiny_backbone) as (client, _):
        assert predict(client, stripes(0, 3, seed=1)).json()["results"] == before
        assert len(client.get("/v1/classes").json()["history"]) == 2  # one class has no accuracy


def test_the_curve_of_accuracy_survives_a_crash(tmp_path: Path, tiny_backbone: Backbone) -> None:
    left = tmp_path / "left"
    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        learn(client, "flat", stripes(0, 3, seed=3))
        before = client.get("/v1/classes").json()["history"]
        assert len(before) == 3
        left.mkdir()  # what a crash at this moment would leave
        for path in tmp_path.glob("stripes.foro*"):
            if path.suffix != ".lock":
                shutil.copy(path, left)
    with running(left, tiny_backbone) as (client, _):
        after = client.get("/v1/classes").json()["history"]
        assert after[:-1] == before[:-1]
        assert [after[-1][name] for name in ("accuracy", "samples")] == [
            before[-1][name] for name in ("accuracy", "samples")
        ]


@pytest.mark.parametrize("label", ["FLAT", "flât", "Fla\u0301t"])
def test_says_if_there_is_such_a_label_already(fresh: httpx.Client, label: str) -> None:
    assert learn(fresh, "flat", stripes(0, 1)).json()["similar"] is None
    assert learn(fresh, label, stripes(0, 1, seed=1)).json()["similar"] == "flat"
    assert learn(fresh, label, stripes(0, 2, seed=2)).json()["similar"] is None  # once
    assert learn(fresh, "flatter", stripes(0, 1, seed=3)).json()["similar"] is None


def test_a_quiet_service_saves(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone, save_seconds=0.1) as (client, _):
        learn(client, "flat", stripes(0, 2))
        saved = tmp_path / "stripes.foro"
        waiting = threading.Event()
        for _ in range(200):
            if saved.exists() and not (tmp_path / "stripes.foro.journal").exists():
                break
            waiting.wait(0.05)
        assert Learner.load(saved, tiny_backbone).head.counts == {"flat": 2}


def test_a_full_disk_is_told_and_nothing_is_half_learned(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        real = os.fsync

        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        check_problem(learn(client, "new", stripes(0, 1, seed=5)), 507, "cannot-write")
        check_problem(client.delete("/v1/classes/flat"), 507, "cannot-write")
        monkeypatch.setattr(os, "fsync", real)
        assert counts(client) == dict.fromkeys(CLASSES, 6)
        assert learn(client, "new", stripes(0, 1, seed=5)).json()["samples"] == 19


def test_the_service_takes_nothing_after_its_end(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone) as (client, service):
        teach_all(client)
    with pytest.raises(Problem, match="being stopped"):
        asyncio.run(service.forget("flat"))
