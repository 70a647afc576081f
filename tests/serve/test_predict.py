from __future__ import annotations

import base64
import io
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from foro.backbones import Backbone
from foro.learner import Learner
from foro.serve.work.service import Service
from foro.snapshot import Snapshot
from foro.types import Float32, Float64
from tests.conftest import textures
from tests.serve.running import CLASSES, check_problem, form, png, predict, running, stripes, teach_all


def labels(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [result["label"] for result in response.json()["results"]]


def test_tells_classes_apart(client: httpx.Client) -> None:
    for kind, label in enumerate(CLASSES):
        assert labels(predict(client, stripes(kind, 4, seed=1))) == [label] * 4


def test_the_answer_says_how_sure_it_is(client: httpx.Client, service: Service) -> None:
    (result,) = predict(client, stripes(0, 1, seed=1)).json()["results"]
    assert result["top"][0]["label"] == result["label"] == "flat"
    sure = [choice["confidence"] for choice in result["top"]]
    assert sure == sorted(sure, reverse=True)
    assert sum(sure) == pytest.approx(1.0, abs=1e-5)
    assert result["confidence"] == sure[0] > 0.5
    assert predict(client, stripes(0, 1)).json()["model_version"] == service.published.version == 3


@pytest.mark.parametrize(("top", "given"), [(0, 3), (1, 1), (2, 2), (1000, 3)])
def test_as_many_labels_as_are_asked_for(client: httpx.Client, top: int, given: int) -> None:
    image = stripes(0, 1)
    assert len(predict(client, image, top=top).json()["results"][0]["top"]) == given
    in_form = client.post("/v1/predict", files=form(image), data={"top": str(top)})
    assert len(in_form.json()["results"][0]["top"]) == given


def test_base64_says_the_same_as_a_form(client: httpx.Client) -> None:
    images = stripes(1, 3, seed=2)
    encoded = [base64.b64encode(image).decode() for image in images]
    encoded[1] = f"data:image/png;base64,{encoded[1]}"
    by_json = client.post("/v1/predict", json={"images": encoded, "top": 2}).json()
    assert by_json == predict(client, images, top=2).json()


def test_a_bad_image_does_not_spoil_the_others(client: httpx.Client) -> None:
    good = stripes(2, 1, seed=3)[0]
    results = predict(client, [good, b"hello", b"", good]).json()["results"]
    assert [result.get("label") for result in results] == ["wide", None, None, "wide"]
    assert results[1]["error"]["type"] == "urn:foro:problem:unreadable-image"
    assert results[1]["error"]["status"] == 422
    assert "no bytes" in results[2]["error"]["detail"]
    by_json = client.post("/v1/predict", json={"images": ["not base64!", base64.b64encode(good).decode()]}).json()
    assert by_json["results"][0]["error"]["detail"] == "this is not base64"
    assert by_json["results"][1]["label"] == "wide"


def test_no_digit_depends_on_what_else_is_asked(client: httpx.Client) -> None:
    images = [image for kind in range(3) for image in stripes(kind, 8, seed=4)]
    alone = [predict(client, [image]).json()["results"][0] for image in images]
    assert predict(client, images).json()["results"] == alone
    with ThreadPoolExecutor(12) as pool:
        for _ in range(3):
            crowded = list(pool.map(lambda image: predict(client, [image]).json()["results"][0], images))
            assert crowded == alone


def test_what_waits_goes_together_in_full_rows(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    begun, may_go_on = threading.Event(), threading.Event()
    answers = Snapshot.pixel_answers

    def counted(snapshot: Snapshot, pixels: Float32) -> tuple[Float64, Float64]:
        sizes.append(len(pixels))
        begun.set()
        may_go_on.wait()
        return answers(snapshot, pixels)

    with running(tmp_path, tiny_backbone) as (client, service), ThreadPoolExecutor(2) as pool:
        teach_all(client)
        monkeypatch.setattr(Snapshot, "pixel_answers", counted)
        first = pool.submit(predict, client, stripes(0, 1))
        begun.wait()
        others = pool.submit(predict, client, stripes(0, 13, seed=1))
        while len(service.predictor._waiting) < 13:
            time.sleep(0.005)
        may_go_on.set()
        assert labels(first.result()) == ["flat"]
        assert labels(others.result()) == ["flat"] * 13
    assert sizes == [1, 8, 5]


def test_says_what_the_learner_says(client: httpx.Client, service: Service) -> None:
    data = stripes(1, 5, seed=5)
    snapshot = service.published.snapshot
    assert snapshot is not None
    images = [np.asarray(image) for image in _opened(data)]
    expected, unknown = snapshot.answers(images)
    for result, row, chance in zip(predict(client, data).json()["results"], expected, unknown, strict=True):
        assert result["unknown"] == pytest.approx(chance, abs=2e-6)
        found = {choice["label"]: choice["confidence"] for choice in result["top"]}
        assert [found[str(label)] for label in snapshot.labels] == pytest.approx(row, abs=2e-6)


@pytest.mark.parametrize("adaptation", ["prompt", "gains", "both"])
def test_what_was_adapted_is_used(tmp_path: Path, tiny_backbone: Backbone, adaptation: str) -> None:
    settings = {"policy": "evolve", "adaptation": adaptation, "generations": 2, "population": 2}
    learner = Learner(tiny_backbone, projection_dim=64, **settings)
    learner.learn(*textures(8))
    assert set(learner.candidate.arrays()) == ({"prompt", "gains"} if adaptation == "both" else {adaptation})
    learner.save(tmp_path / "stripes.foro")
    data = stripes(1, 3, seed=5)
    expected = learner.probabilities(_opened(data))
    with running(tmp_path, tiny_backbone) as (client, _):
        for result, row in zip(predict(client, data).json()["results"], expected, strict=True):
            assert result["confidence"] == pytest.approx(row.max(), abs=2e-6)
            assert result["label"] == learner.labels[row.argmax()]


def _opened(files: list[bytes]) -> list[Image.Image]:
    return [Image.open(io.BytesIO(data)).convert("RGB") for data in files]


def test_large_and_turned_images_are_read(client: httpx.Client) -> None:
    image = Image.fromarray(np.full((900, 1200, 3), 90, np.uint8))
    assert len(labels(predict(client, [png(image), png(image.convert("L")), png(image.convert("P"))]))) == 3


def test_without_a_lesson_there_is_no_answer(fresh: httpx.Client) -> None:
    assert "teach" in check_problem(predict(fresh, stripes(0, 1)), 409, "nothing-learned")["detail"]


@pytest.mark.parametrize(
    ("request_", "status", "kind"),
    [
        ({"json": {"images": []}}, 422, "no-image"),
        ({"json": {"images": "abc"}}, 400, "malformed-body"),
        ({"json": {"images": [1]}}, 400, "malformed-body"),
        ({"json": {}}, 400, "malformed-body"),
        ({"json": [1]}, 400, "malformed-body"),
        ({"json": {"images": ["aGk="], "top": -1}}, 422, "bad-request"),
        ({"json": {"images": ["aGk="], "top": True}}, 422, "bad-request"),
        ({"json": {"images": ["aGk="], "top": "2"}}, 422, "bad-request"),
        ({"json": {"images": ["aGk="]}, "params": {"top": -1}}, 422, "bad-request"),
        ({"json": {"images": ["aGk="]}, "params": {"top": "many"}}, 422, "bad-request"),
        ({"content": b"[" * 100_000, "headers": {"content-type": "application/json"}}, 400, "malformed-body"),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400, "malformed-body"),
        ({"content": b"\xff", "headers": {"content-type": "application/json"}}, 400, "malformed-body"),
        ({"content": b"x", "headers": {"content-type": "text/plain"}}, 415, "unsupported-body"),
        ({"content": b"x"}, 415, "unsupported-body"),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data"}}, 400, "malformed-body"),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data; boundary=b"}}, 400, "malformed-body"),
        ({"content": b"", "headers": {"content-type": "multipart/form-data; boundary=b"}}, 400, "malformed-body"),
        (
            {"content": b"--b\r\n", "headers": {"content-type": "multipart/form-data; boundary=b"}},
            400,
            "malformed-body",
        ),
        ({"files": {"image": b"x"}}, 422, "no-image"),
        ({"files": [("images", b"x")], "data": {"top": "few"}}, 400, "malformed-body"),
    ],
)
def test_what_cannot_be_understood_is_told(
    client: httpx.Client, request_: dict[str, Any], status: int, kind: str
) -> None:
    check_problem(client.post("/v1/predict", **request_), status, kind)
