from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from foro.learner import Learner
from tests.serve.process import command, environment, make_model, started
from tests.serve.running import learn, learn_again, stripes

TEACH = "a-token-that-may-teach"


def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, timeout=120, env=environment(**variables)
    )


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_finishes_saves_and_ends_well(tmp_path: Path, way: signal.Signals) -> None:
    model = make_model(tmp_path)
    with started(model) as (process, address), httpx.Client(base_url=address, timeout=60) as client:
        assert learn(client, "flat", stripes(0, 3)).status_code == 200
        assert model.with_name("model.foro.journal").exists()
        with ThreadPoolExecutor(1) as pool:
            last = pool.submit(learn, client, "steep", stripes(1, 20))
            while "foro_waiting_images 20" not in httpx.get(f"{address}/metrics").text and not last.done():
                pass
            process.send_signal(way)
            assert last.result().json()["learned"] == 20  # what was in work is finished
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
    lines = [json.loads(line) for line in errors.splitlines()]
    assert [line["message"] for line in lines[:1] + lines[-2:]] == ["listening", "saved", "stopped"]
    requests = [line for line in lines if line["message"] == "request"]
    assert {(line["method"], line["route"], line["status"]) for line in requests} == {("POST", "/v1/learn", 200)}
    assert all(line["request_id"] and line["milliseconds"] > 0 for line in requests)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backbone", "model.foro", "model.foro.undo"]
    assert Learner.load(model).head.counts == {"flat": 3, "steep": 20}


def test_a_second_service_of_the_same_model_is_refused(tmp_path: Path) -> None:
    model = make_model(tmp_path)
    with started(model):
        refused = run(model, "--port", "0")
        assert refused.returncode == 2
        assert "is being changed by another process" in refused.stderr
        assert len([line for line in refused.stderr.splitlines() if not line.startswith("{")]) == 1


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    model = tmp_path / "model.foro"
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "token").write_text(f"{TEACH}\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        mistakes = {
            "listening on 0.0.0.0 needs a token": run(model, "--host", "0.0.0.0"),
            "the teach token needs 16": run(model, FORO_TEACH_TOKEN="short"),
            "the teach token is given twice": run(
                model, "--teach-token-file", tmp_path / "token", FORO_TEACH_TOKEN=TEACH
            ),
            "the read token cannot be read from": run(model, FORO_READ_TOKEN_FILE=str(tmp_path / "none")),
            "cannot listen on 127.0.0.1 port": run(model, "--port", str(taken.getsockname()[1])),
            "needs a token, or anybody could": run(
                model, "--host", "::", FORO_TEACH_TOKEN_FILE=str(tmp_path / "empty")
            ),
        }
    for said, result in mistakes.items():
        assert result.returncode == 2, said
        assert result.stderr.startswith("foro: ")
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert not model.exists()


def test_a_token_from_a_file_opens_any_host(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TEACH}\n")
    model = make_model(tmp_path)
    with started(model, "--host", "0.0.0.0", FORO_TEACH_TOKEN_FILE=str(tmp_path / "token")) as (_, address):
        local = address.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{local}/v1/classes").status_code == 401
        assert httpx.get(f"{local}/v1/classes", headers={"Authorization": f"Bearer {TEACH}"}).status_code == 200


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('No module named fastapi', name='fastapi')\n")

    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    result = run(tmp_path / "model.foro", PYTHONPATH=path)
    assert result.returncode == 2
    assert result.stderr == 'foro: the service needs fastapi: install it with pip install "foro[serve]"\n'


class Load:
    """Clients that teach without a pause, and note what was acknowledged, until the service is gone."""

    def __init__(self, address: str, name: str) -> None:
        self.address = address
        self.name = name
        self.sent: dict[str, tuple[str, list[bytes]]] = {}
        self.acknowledged: set[str] = set()
        self.enough = threading.Event()

    def run(self, clients: int, enough: int) -> None:
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(lambda number: self._teach(number, enough), range(clients)))

    def _teach(self, client: int, enough: int) -> None:
        images = stripes(client % 3, 4, seed=client)
        with httpx.Client(base_url=self.address, timeout=60) as connection:
            number = 0
            while True:
                key = f"{self.name}-{client}-{number}"
                label, chosen = f"class {client % 3}", [images[number % 4]]
                self.sent[key] = label, chosen
                try:
                    answer = learn_again(connection, label, chosen, **{"Idempotency-Key": key})
                except httpx.TransportError:
                    return
                assert answer.status_code == 200
                self.acknowledged.add(key)
                if len(self.acknowledged) >= enough:
                    self.enough.set()
                number += 1


def test_killed_under_load_it_has_all_that_it_acknowledged_and_nothing_twice(tmp_path: Path) -> None:
    model = make_model(tmp_path)
    acknowledged: dict[str, tuple[str, list[bytes]]] = {}
    unsure: dict[str, tuple[str, list[bytes]]] = {}
    for life in range(3):
        with started(model, "--log-level", "error", "--save-seconds", "0.2") as (process, address):
            load = Load(address, f"life{life}")
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(load.run, 6, 350)
                load.enough.wait(timeout=600)
                process.send_signal(signal.SIGKILL)
                running.result()
        acknowledged |= {key: load.sent[key] for key in load.acknowledged}
        unsure |= {key: sent for key, sent in load.sent.items() if key not in load.acknowledged}
    assert len(acknowledged) >= 1000
    with started(model, "--log-level", "error") as (process, address):
        with httpx.Client(base_url=address, timeout=60) as client:
            samples = client.get("/v1/classes").json()["samples"]
            # What was in work when it was killed may have been learned or not; all else must have been, once.
            assert len(acknowledged) <= samples <= len(acknowledged) + len(unsure)
            again = [learn_again(client, *acknowledged[key], **{"Idempotency-Key": key}).json() for key in acknowledged]
            assert all(answer["replayed"] for answer in again)
            late = [learn_again(client, *unsure[key], **{"Idempotency-Key": key}).json() for key in unsure]
            assert samples + sum(not answer["replayed"] for answer in late) == len(acknowledged) + len(unsure)
            counts = {each["label"]: each["count"] for each in client.get("/v1/classes").json()["classes"]}
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    sent = [label for label, _ in (acknowledged | unsure).values()]
    assert counts == {label: sent.count(label) for label in set(sent)}
    assert Learner.load(model).head.counts == counts
