"""Connections that say nothing, too little, too slowly or the wrong thing: none keeps others out."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from foro.backbones import Backbone
from foro.serve.http import bodies, http_connection
from tests.serve.process import make_model, started
from tests.serve.running import check_problem, learn, running, stripes


@contextmanager
def connected(client: httpx.Client, sent: bytes = b"", address: str = "127.0.0.1") -> Iterator[socket.socket]:
    with socket.socket() as each:
        each.bind((address, 0))
        each.settimeout(20)
        each.connect((client.base_url.host, client.base_url.port))
        each.sendall(sent)
        yield each


def answer(sent: socket.socket) -> tuple[int, dict[str, str], dict[str, object]]:
    """Status, headers and problem of what comes until the service hangs up."""
    received = b""
    while piece := sent.recv(65536):
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    return int(lines[0].split()[1]), headers, json.loads(body)


def is_ours(headers: dict[str, str]) -> bool:
    return (
        headers["content-type"] == "application/problem+json"
        and headers["content-security-policy"].startswith("default-src 'none'")
        and len(headers["x-request-id"]) == 32
    )


@pytest.fixture
def impatient(tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr(http_connection, "LONGEST_HEAD", 0.3)
    monkeypatch.setattr(bodies, "LONGEST_READING", 0.3)
    with running(tmp_path, tiny_backbone) as (client, _):
        yield client


def test_a_silent_connection_is_closed(impatient: httpx.Client) -> None:
    with connected(impatient) as silent:
        assert silent.recv(100) == b""


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_half_a_head_is_not_waited_for(impatient: httpx.Client, before: bytes) -> None:
    with connected(impatient, before) as slow:
        if before:
            assert slow.recv(65536).startswith(b"HTTP/1.1 200 ")
        start = time.monotonic()
        slow.settimeout(0.05)
        for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100:
            try:  # one more byte from time to time does not put the end off
                slow.sendall(bytes([byte]))
                if not slow.recv(65536):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("it still waits")
        assert time.monotonic() - start < 5


def test_half_a_head_is_told(impatient: httpx.Client) -> None:
    with connected(impatient, b"GET / HT") as slow:
        status, headers, problem = answer(slow)
        assert (status, problem["type"]) == (408, "urn:foro:problem:too-slow")
        assert is_ours(headers)


def test_a_model_that_never_comes_is_not_waited_for(impatient: httpx.Client, tmp_path: Path) -> None:
    head = (
        b"POST /v1/merge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n"
        b"Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    )
    with connected(impatient, head + b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nx') as slow:
        status, _, problem = answer(slow)
        assert (status, problem["type"]) == (408, "urn:foro:problem:too-slow")
    assert list(tmp_path.glob(".*.part")) == []


def test_only_so_many_models_come_at_once(tmp_path: Path, tiny_backbone: Backbone) -> None:
    head = (
        b"POST /v1/merge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n"
        b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
    )
    with running(tmp_path, tiny_backbone) as (client, service), ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(connected(client, head))
        while service.admission.uploads < 4:
            threading.Event().wait(0.005)
        check_problem(client.post("/v1/merge", files={"model": b"x"}), 429, "too-many")


def test_one_address_cannot_lock_the_others_out(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "MOST_FROM_ONE", 20)
    with running(tmp_path, tiny_backbone) as (client, _), ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connected(client, address="127.0.0.5"))
        time.sleep(0.2)
        with connected(client, address="127.0.0.5") as one_more:
            status, headers, problem = answer(one_more)
            assert (status, problem["type"]) == (503, "urn:foro:problem:too-many-connections")
            assert is_ours(headers)
        assert client.get("/healthz").status_code == 200


def test_too_many_from_everywhere_are_told(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "MOST_CONNECTIONS", 3)
    with running(tmp_path, tiny_backbone) as (client, _), ExitStack() as stack:
        for number in range(3):
            stack.enter_context(connected(client, address=f"127.0.0.{number + 5}"))
        time.sleep(0.2)
        with connected(client) as one_more:
            status, headers, _ = answer(one_more)
            assert status == 503
            assert is_ours(headers)


def test_an_answer_that_nobody_takes_is_given_up(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "LONGEST_STALL", 0.3)
    with running(tmp_path, tiny_backbone, learner={"projection_dim": 2048}) as (client, _):
        learn(client, "flat", stripes(0, 1))
        size = int(client.get("/v1/model").headers["content-length"])
        with socket.socket() as greedy:
            greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            greedy.settimeout(20)
            greedy.connect((client.base_url.host, client.base_url.port))
            often = 2**25 // size  # more than the buffers of the system hold
            greedy.sendall(b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n" * often)
            time.sleep(5)  # much longer than it is waited for, also on a busy machine
            received = 0
            with suppress(ConnectionError):
                while piece := greedy.recv(65536):
                    received += len(piece)
            assert received < often * size


def test_what_is_no_http_is_told_like_everything_else(client: httpx.Client) -> None:
    for sent in (b"\x16\x03\x01 hello\r\n\r\n", b"GET / HTTP/1.1\r\nHost\r\n\r\n"):
        with connected(client, sent) as connection:
            status, headers, problem = answer(connection)
            assert (status, problem["type"]) == (400, "urn:foro:problem:malformed-request")
            assert is_ours(headers)


def test_two_lengths_of_a_body_are_refused(client: httpx.Client) -> None:
    both = (
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    with connected(client, both) as smuggler:
        status, headers, problem = answer(smuggler)
        assert (status, problem["type"]) == (400, "urn:foro:problem:malformed-request")
        assert headers["connection"] == "close"


def test_every_line_of_the_log_is_json(tmp_path: Path) -> None:
    with started(make_model(tmp_path), "--log-level", "debug") as (process, address):
        with httpx.Client(base_url=address, timeout=60) as client:
            form = {"content-type": "multipart/form-data; boundary=b"}
            client.post("/v1/learn", content=b"no form at all", headers=form)
            with connected(client, b"nonsense\r\n\r\n") as wrong:
                wrong.recv(1000)
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert len([json.loads(line) for line in errors.splitlines()]) > 4
    assert "Expected boundary character" in errors  # of the parser


def test_it_is_ready_while_it_can_save(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with running(tmp_path, tiny_backbone, save_seconds=0.05) as (client, service):
        assert client.get("/readyz").json() == {"status": "ready"}
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            service._could_write = -1e9
            check_problem(client.get("/readyz"), 503, "cannot-write")
            assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200
        learn(client, "flat", stripes(0, 1))
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", full)
            learn(client, "flat", stripes(0, 2))
            while service.teacher.trouble is None:
                threading.Event().wait(0.01)
            check_problem(client.get("/readyz"), 503, "cannot-write")
        while service.teacher.trouble is not None:
            threading.Event().wait(0.01)
        assert client.get("/readyz").status_code == 200
