from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from foro.backbones import Backbone
from foro.ledger import MOST_MEASURED, Ledger
from tests.serve.running import CLASSES, check_problem, learn, predict, running, stripes, teach_all


def test_lists_what_is_known(client: httpx.Client) -> None:
    answer = client.get("/v1/classes").json()
    assert [(each["label"], each["count"]) for each in answer["classes"]] == [(label, 6) for label in CLASSES]
    assert answer["samples"] == 18
    assert answer["removed"] == []
    rights = [each["accuracy"] for each in answer["classes"]]
    assert all(0 <= each <= 1 for each in rights)
    assert answer["accuracy"] == pytest.approx(sum(rights) / 3)
    for each in answer["classes"]:
        assert datetime.fromisoformat(each["last_taught"]).tzinfo is not None
    assert [point["samples"] for point in answer["history"]] == [12, 18]  # one class has no accuracy
    assert answer["history"][-1]["accuracy"] == answer["accuracy"]


def test_a_new_service_knows_nothing(fresh: httpx.Client) -> None:
    nothing = {"classes": [], "samples": 0, "accuracy": None, "history": [], "removed": []}
    nothing |= {"undo": [], "model_version": 0, "thumbnails": False}
    assert fresh.get("/v1/classes").json() == nothing
    health = fresh.get("/healthz").json()
    assert health == {
        "status": "ok",
        "model": "stripes.foro",
        "backbone": "vit_random.test",
        "classes": 0,
        "samples": 0,
        "model_version": 0,
    }


def test_the_accuracy_of_a_single_image_is_not_known(fresh: httpx.Client) -> None:
    learn(fresh, "flat", stripes(0, 1))
    (only,) = fresh.get("/v1/classes").json()["classes"]
    assert only["accuracy"] is None


def test_a_forgotten_class_comes_back_as_it_was(tmp_path: Path, tiny_backbone: Backbone) -> None:
    asked = [image for kind in range(3) for image in stripes(kind, 3, seed=1)]

    def answers(client: httpx.Client) -> list[dict[str, float]]:
        results = predict(client, asked).json()["results"]
        return [{choice["label"]: choice["confidence"] for choice in result["top"]} for result in results]

    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        before, known = answers(client), client.get("/v1/classes").json()
        assert client.delete("/v1/classes/steep").json() == {"label": "steep", "classes": 2}
        assert all("steep" not in each for each in answers(client))
        check_problem(client.delete("/v1/classes/steep"), 404, "unknown-label")
        assert client.get("/v1/classes").json()["removed"] == ["steep"]
    with running(tmp_path, tiny_backbone) as (client, _):  # after another start, too
        assert client.post("/v1/classes/steep/restore").json() == {"label": "steep", "classes": 3}
        for one, other in zip(answers(client), before, strict=True):
            assert all(abs(one[label] - other[label]) < 2e-6 for label in CLASSES)
        after = client.get("/v1/classes").json()
        assert sorted(after["classes"], key=str) == sorted(known["classes"], key=str)
        check_problem(client.post("/v1/classes/steep/restore"), 404, "unknown-label")


def test_a_class_is_called_something_else(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone) as (client, _):
        teach_all(client)
        answer = client.post("/v1/classes/flat/rename", params={"to": " calm/level "})
        assert answer.json() == {"label": "calm/level", "classes": 3}
        assert predict(client, stripes(0, 1, seed=1)).json()["results"][0]["label"] == "calm/level"
        assert client.post("/v1/classes/steep/rename", params={"to": "wide"}).json()["classes"] == 2
        check_problem(client.post("/v1/classes/steep/rename", params={"to": "x"}), 404, "unknown-label")
        check_problem(client.post("/v1/classes/wide/rename", params={"to": "a\nb"}), 422, "bad-label")
        check_problem(client.post("/v1/classes/wide/rename"), 422, "bad-request")
    with running(tmp_path, tiny_backbone) as (client, _):
        known = {each["label"]: each["count"] for each in client.get("/v1/classes").json()["classes"]}
        assert known == {"calm/level": 6, "wide": 12}


def test_says_what_is_confused_and_what_would_help(fresh: httpx.Client) -> None:
    assert fresh.get("/v1/review").json()["needs"] == []
    for label, kind, seed in (("flat", 0, 0), ("level", 0, 5), ("steep", 1, 0)):
        learn(fresh, label, stripes(kind, 8, seed=seed))
    found = fresh.get("/v1/review").json()
    first = found["confusable"][0]
    assert {first["first"], first["second"]} == {"flat", "level"}
    assert (first["images"], found["more"]) == (16, 5)
    assert 0.5 <= first["confused"] <= 16
    assert found["needs"][-1]["label"] == "steep"
    assert all(0 <= each["mistakes_after"] <= each["mistakes"] <= 1 for each in found["needs"])
    learn(fresh, "wide", stripes(2, 8))
    assert len(fresh.get("/v1/review").json()["needs"]) == 4


def test_unknown_labels_are_told(client: httpx.Client) -> None:
    for address in ("/v1/classes/nobody", "/v1/classes/%FF", "/v1/classes/a%0Ab", "/v1/classes/a%2Fb"):
        assert client.delete(address).status_code == 404
    check_problem(client.delete("/v1/classes/nobody"), 404, "unknown-label")
    check_problem(client.delete("/v1/classes/"), 422, "bad-request")


def test_the_last_class_may_go(fresh: httpx.Client) -> None:
    learn(fresh, "flat", stripes(0, 1))
    assert fresh.delete("/v1/classes/flat").json()["classes"] == 0
    check_problem(predict(fresh, stripes(0, 1)), 409, "nothing-learned")
    assert learn(fresh, "steep", stripes(1, 1)).status_code == 200
    assert predict(fresh, stripes(0, 1)).json()["results"][0]["label"] == "steep"


def test_the_curve_of_accuracy_keeps_its_ends_and_stays_short() -> None:
    ledger = Ledger()
    for samples in range(5 * MOST_MEASURED):
        ledger.measure(0.5, samples)
    kept = [samples for _, _, samples in Ledger.from_state(json.loads(json.dumps(ledger.state([])))).measured]
    assert len(kept) <= MOST_MEASURED
    assert kept == sorted(kept)
    assert (kept[0], kept[-1]) == (0, 5 * MOST_MEASURED - 1)
