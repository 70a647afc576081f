from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from foro.backbones import Backbone, load_backbone
from foro.files import read_model, write_model
from foro.files.export.exporter import run_onnx
from foro.heads.ridge.solver import Solver
from foro.images.load import load_image
from foro.learner import Learner
from foro.types import Float64
from tests.backbones.reference import tiny_checkpoint
from tests.conftest import textures
from tests.serve.running import CLASSES, check_problem, learn, predict, running, stripes, teach_all


def send(client: httpx.Client, model: bytes | Path, **headers: str) -> httpx.Response:
    content = model if isinstance(model, bytes) else model.read_bytes()
    return client.post("/v1/merge", files={"model": ("../../etc/passwd", content)}, headers=headers)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, tiny_backbone: Backbone) -> Path:
    """A model that was taught elsewhere, partly the same classes."""
    learner = Learner(tiny_backbone, policy="none", projection_dim=64)
    images, labels = textures(5, seed=7)
    learner.learn(images, labels)
    learner.learn(images[:4], ["flat"] * 4, again=True)
    learner.forget("texture 3")
    path = tmp_path_factory.mktemp("other") / "other.foro"
    learner.save(path, portable=True)
    return path


def test_the_download_is_the_model(client: httpx.Client, tmp_path: Path, tiny_backbone: Backbone) -> None:
    answer = client.get("/v1/model")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="model.foro"'
    (tmp_path / "got.foro").write_bytes(answer.content)
    learner = Learner.load(tmp_path / "got.foro", tiny_backbone)
    assert learner.head.counts == dict.fromkeys(CLASSES, 6)


def test_the_onnx_file_says_what_the_service_says(
    tmp_path: Path, client: httpx.Client, tiny_backbone: Backbone
) -> None:
    answer = client.get("/v1/onnx")
    assert answer.headers["content-disposition"] == 'attachment; filename="model.onnx"'
    (tmp_path / "got.onnx").write_bytes(answer.content)
    image = stripes(1, 1, seed=1)[0]
    crop = tiny_backbone.preprocessing.crop(load_image(Image.open(io.BytesIO(image))))
    found = run_onnx(tmp_path / "got.onnx", [crop])[0]
    (result,) = predict(client, [image]).json()["results"]
    assert found[1:].max() == pytest.approx(result["confidence"], abs=1e-4)


def test_the_report_names_every_class(client: httpx.Client, fresh: httpx.Client) -> None:
    answer = client.get("/v1/report")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert all(label in answer.text for label in CLASSES)
    assert fresh.get("/v1/report").status_code == 200
    check_problem(fresh.get("/v1/onnx"), 409, "nothing-learned")


def test_even_a_model_that_knows_nothing_can_be_had(
    fresh: httpx.Client, tmp_path: Path, tiny_backbone: Backbone
) -> None:
    (tmp_path / "got.foro").write_bytes(fresh.get("/v1/model").content)
    assert Learner.load(tmp_path / "got.foro", tiny_backbone).labels == []


def test_merging_is_learning_both(tmp_path: Path, tiny_backbone: Backbone, other: Path) -> None:
    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        answer = send(client, other, **{"Idempotency-Key": "other"}).json()
        assert answer == {"classes": 6, "samples": 42, "added": 24, "known": 0, "replayed": False}
        again = send(client, other, **{"Idempotency-Key": "other"}).json()
        assert again == {**answer, "replayed": True}
        own = client.get("/v1/model").content
        check_problem(send(client, own, **{"Idempotency-Key": "other"}), 422, "key-reused")
        assert {each["label"]: each["count"] for each in client.get("/v1/classes").json()["classes"]} == {
            "flat": 10,
            "steep": 6,
            "wide": 6,
            "texture 0": 5,
            "texture 1": 5,
            "texture 2": 5,
        }
        assert client.get("/v1/classes").json()["removed"] == ["texture 3"]
        assert predict(client, stripes(2, 1, seed=1)).json()["results"][0]["label"] in ("wide", "texture 2")
        assert list(tmp_path.glob(".*")) == []
    merged = Learner.load(tmp_path / "stripes.foro", tiny_backbone)
    assert merged.head.samples == 42


def test_merged_with_itself_it_counts_nothing_twice(tmp_path: Path, tiny_backbone: Backbone) -> None:
    def counts() -> dict[str, int]:
        return {each["label"]: each["count"] for each in client.get("/v1/classes").json()["classes"]}

    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        before, own = counts(), client.get("/v1/model").content
        answer = send(client, own).json()
        assert (answer["added"], answer["known"], answer["samples"]) == (0, 18, 18)
        assert counts() == before
        learn(client, "flat", stripes(0, 2, seed=5))
        assert send(client, own).json()["added"] == 0  # an older copy: it has all that this one has, and less
        assert counts() == {**before, "flat": 8}
        partly = tmp_path / "partly.foro"
        partly.write_bytes(own)
        other = Learner.load(partly, tiny_backbone)
        other.learn(*textures(2, seed=9))
        other.save(partly)
        check_problem(send(client, partly), 409, "cannot-be-merged")
        assert counts() == {**before, "flat": 8}
        assert client.post("/v1/merge?again=true", files={"model": own}).json()["added"] == 18
        assert counts()["flat"] == 14


def test_merging_solves_for_one_classifier(
    tmp_path: Path, tiny_backbone: Backbone, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved: list[int] = []
    solve = Solver.solve

    def counted(solver: Solver) -> tuple[Float64, float]:
        solved.append(1)
        return solve(solver)

    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        monkeypatch.setattr(Solver, "solve", counted)
        assert send(client, other).status_code == 200
        assert len(solved) == 1, "for a large model this is nearly all of the time that merging takes"


def test_what_does_not_fit_is_refused(tmp_path: Path, client: httpx.Client, tiny_backbone: Backbone) -> None:
    images, labels = textures(2)
    strange = {
        "backbones": Learner(load_backbone(tiny_checkpoint(seed=1), threads=1), policy="none", projection_dim=64),
        "image sizes": Learner(
            load_backbone(tiny_checkpoint(), image_size=48, threads=1), policy="none", projection_dim=64
        ),
        "projections": Learner(tiny_backbone, policy="none", projection_dim=32),
        "readouts": Learner(tiny_backbone, policy="none", projection_dim=64, readout="cls2"),
    }
    before = client.get("/v1/classes").json()
    for what, learner in strange.items():
        learner.learn(images, labels)
        learner.save(tmp_path / "strange.foro")
        problem = check_problem(send(client, tmp_path / "strange.foro"), 409, "cannot-be-merged")
        assert problem["detail"] == f"these learners cannot be merged: their {what} differ"
    assert client.get("/v1/classes").json() == before


def test_what_is_no_model_is_refused(client: httpx.Client) -> None:
    for content in (b"", b"hello", b"\xff" * 100, (10**6).to_bytes(8, "little") + b"{}", stripes(0, 1)[0]):
        check_problem(send(client, content), 422, "unreadable-model")
    deep = b"[" * 200_000
    check_problem(send(client, len(deep).to_bytes(8, "little") + deep), 422, "unreadable-model")
    check_problem(client.post("/v1/merge", files={"file": b"x"}), 422, "no-model")
    check_problem(client.post("/v1/merge", content=b"x"), 415, "unsupported-body")
    twice = [("model", b"x"), ("model", b"y")]
    check_problem(client.post("/v1/merge", files=twice), 400, "malformed-body")


def test_a_model_that_is_too_large_is_refused(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone, most_model_megabytes=0.01) as (client, _):
        check_problem(send(client, bytes(20_000)), 413, "too-large")
        slowly = (bytes(1000) for _ in range(30))
        headers = {"content-type": "multipart/form-data; boundary=b"}
        start = (piece for piece in (b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n', *slowly))
        check_problem(client.post("/v1/merge", content=start, headers=headers), 413, "too-large")


def _spoil(path: Path, arrays: dict[str, Any], metadata: dict[str, Any]) -> bytes:
    write_model(path, arrays, {key: value for key, value in metadata.items() if key != "schema"})
    return path.read_bytes()


def test_statistics_that_make_no_sense_never_touch_the_model(
    tmp_path: Path, tiny_backbone: Backbone, client: httpx.Client, other: Path
) -> None:
    before = client.get("/v1/classes").json()
    path = tmp_path / "bad.foro"

    def refused(change: Any) -> None:
        arrays, metadata = read_model(other)
        arrays = {name: array.copy() for name, array in arrays.items()}
        metadata = json.loads(json.dumps(metadata))
        change(arrays, metadata)
        check_problem(send(client, _spoil(path, arrays, metadata)), 422, "unreadable-model")

    def put(name: str, value: float) -> Any:
        return lambda arrays, _metadata: arrays[name].reshape(-1).__setitem__(0, value)

    gram = next(name for name in ("encoder.gram", "encoder.tail") if name in read_model(other)[0])
    refused(put(gram, np.nan))
    refused(put(gram, -1e9))
    refused(put(gram, 1e300))
    refused(put("encoder.cross", np.inf))
    refused(put("encoder.projection", np.nan))
    refused(put("encoder.counts", -5))
    refused(put("encoder.reservoir.classes", 99))
    refused(lambda arrays, _: arrays.pop("encoder.counts"))
    refused(lambda arrays, _: arrays.update({"encoder.counts": arrays["encoder.counts"][:-1]}))
    refused(lambda arrays, _: arrays["encoder.gram"].__imul__(-1e6))
    refused(lambda _, metadata: metadata.pop("backbone"))
    refused(
        lambda _, metadata: metadata["encoder"].update(
            labels=[{}, [], 1.5, None, "x", "y"][: len(metadata["encoder"]["labels"])]
        )
    )
    for label in ("", "a\nb", "x" * 5000, "a\u200bb", "\u202ea", "e\u0301", " a", 1.5):
        for place in (0, -1):  # the last one is forgotten

            def rename(_: Any, metadata: dict[str, Any], place: int = place, label: object = label) -> None:
                metadata["encoder"]["labels"][place] = label

            refused(rename)
    refused(lambda _, metadata: metadata["encoder"].update(samples=-1))
    refused(lambda _, metadata: metadata["encoder"].update(samples="many"))
    refused(lambda _, metadata: metadata["config"].update(policy="dance"))
    refused(lambda _, metadata: metadata.update(encoder=None))
    assert client.get("/v1/classes").json() == before
    assert predict(client, stripes(0, 1)).status_code == 200


@given(
    places=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=4), cut=st.booleans()
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_model_is_never_a_failure_of_the_service(
    client: httpx.Client, other: Path, places: list[tuple[int, int]], cut: bool
) -> None:
    content = bytearray(other.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    for place, change in places:
        content[place % header] ^= change
    answer = send(client, bytes(content[: len(content) // 2] if cut else content))
    assert answer.status_code in (200, 409, 422), answer.text
    assert predict(client, stripes(0, 1)).status_code == 200


def test_a_service_goes_on_after_a_merge(tmp_path: Path, tiny_backbone: Backbone, other: Path) -> None:
    with running(tmp_path, tiny_backbone) as (client, _):
        assert send(client, other).json()["added"] == 24
        assert learn(client, "new", stripes(0, 2)).json()["samples"] == 26
    with running(tmp_path, tiny_backbone) as (client, _):
        assert client.get("/v1/classes").json()["samples"] == 26
