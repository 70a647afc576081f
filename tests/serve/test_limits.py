from __future__ import annotations

import json
import socket
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from foro.backbones import Backbone
from foro.images.load import load_image
from foro.serve.http import bodies
from foro.serve.http.metrics import BUCKETS
from foro.serve.http.rate_limit import MOST_CLIENTS, RateLimit
from foro.serve.problems import Problem
from foro.serve.work.admission import Admission
from tests.serve.running import check_problem, form, held_up, learn, png, predict, running, stripes


def metrics(client: httpx.Client) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every value by its name and labels, as Prometheus reads it."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value for family in families for each in family.samples
    }


def test_what_is_too_much_is_refused(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone, most_images=3, most_megabytes=0.2, most_megapixels=0.01) as (client, _):
        learn(client, "flat", stripes(0, 2))
        assert predict(client, stripes(0, 3)).status_code == 200
        check_problem(predict(client, stripes(0, 4)), 413, "too-many-images")
        check_problem(learn(client, "flat", stripes(0, 4)), 413, "too-many-images")
        check_problem(predict(client, [bytes(300_000)]), 413, "too-large")
        check_problem(client.post("/v1/predict", json={"images": ["A" * 300_000]}), 413, "too-large")
        pieces = (bytes(50_000) for _ in range(20))  # without saying how long it will be
        check_problem(client.post("/v1/predict", content=pieces), 413, "too-large")
        large = png(np.zeros((101, 100, 3), np.uint8))
        (result,) = predict(client, [large]).json()["results"]
        assert result["error"]["type"] == "urn:foro:problem:too-many-pixels"
        assert learn(client, "flat", [large, *stripes(0, 1)]).json()["skipped"][0]["index"] == 0
        narrow = png(np.zeros((1, 300, 3), np.uint8))
        assert predict(client, [narrow]).json()["results"][0]["error"]["type"] == "urn:foro:problem:too-narrow-image"
        assert predict(client, stripes(0, 1)).status_code == 200


def test_pixels_of_a_request_are_bounded(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone, most_request_megapixels=0.03) as (client, _):
        learn(client, "flat", stripes(0, 2))
        image = png(np.zeros((100, 100, 3), np.uint8))
        assert predict(client, [image] * 3).status_code == 200
        for answer in (predict(client, [image] * 4), learn(client, "flat", [image] * 4)):
            assert "0.03 of a request" in check_problem(answer, 413, "too-many-pixels")["detail"]
        alone = png(np.zeros((200, 200, 3), np.uint8))
        assert predict(client, [alone]).json()["results"][0]["label"] == "flat"


def test_millions_of_empty_images_are_refused_before_they_are_read(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = b'{"images":[' + b'"",' * 1_000_000 + b'""]}'
    deep = b'{"x":' + b"[" * 3_000_000
    for content, status, kind in ((many, 413, "too-many-images"), (deep, 400, "malformed-body")):
        answer = client.post("/v1/predict", content=content, headers={"content-type": "application/json"})
        check_problem(answer, status, kind)
        with monkeypatch.context() as patch:
            patch.setattr(bodies, "json", None)
            with pytest.raises(Problem):
                bodies._from_json(bytearray(content), 64)


def test_deep_values_of_16_bits_take_little_memory() -> None:
    image = Image.fromarray(np.random.default_rng(0).integers(0, 65536, (1500, 2000), np.uint16))
    tracemalloc.start()
    load_image(image)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * 1500 * 2000  # bytes: as floats it would be 24 for every pixel


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/learn"])
def test_work_for_a_client_that_has_gone_is_given_up(tmp_path: Path, tiny_backbone: Backbone, path: str) -> None:
    with running(tmp_path, tiny_backbone) as (client, service):
        learn(client, "flat", stripes(0, 2))
        decoded, begun, may_end = [], threading.Event(), threading.Event()
        decode = service.decode

        def slow(data: bytes | None) -> Image.Image | Problem:
            decoded.append(data)
            begun.set()
            may_end.wait()
            return decode(data)

        slow.check = decode.check  # type: ignore[attr-defined]
        service.decode = service.predictor._decoder = slow  # type: ignore[assignment]
        request = client.build_request("POST", path, files=form(stripes(0, 30)), data={"label": "steep"})
        body = request.read()
        with socket.socket() as connection:
            connection.connect((client.base_url.host, client.base_url.port))
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            connection.sendall(f"{head}Content-Type: {request.headers['content-type']}\r\n\r\n".encode() + body)
            begun.wait()
        while service.admission.images:
            threading.Event().wait(0.005)
        may_end.set()
        service.decode = service.predictor._decoder = decode
        assert learn(client, "flat", stripes(0, 1, seed=5)).json()["samples"] == 3
        assert len(decoded) <= 4


def test_a_body_that_never_ends_is_not_waited_for(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "LONGEST_READING", 0.2)
    with running(tmp_path, tiny_backbone) as (client, service), socket.socket() as connection:
        connection.connect((client.base_url.host, client.base_url.port))
        connection.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert service.admission.bytes == 0


def test_too_many_requests_are_turned_away_for_a_while(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone, rate=2) as (client, _):
        answers = [client.get("/healthz") for _ in range(12)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert [answer.status_code for answer in answers[:4]] == [200] * 4
        assert len(refused) >= 4
        check_problem(refused[0], 429, "too-many")
        assert int(refused[0].headers["retry-after"]) >= 1


def test_images_that_cannot_wait_are_turned_away(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone, most_waiting=4) as (client, service):
        learn(client, "flat", stripes(0, 2))
        may_end = held_up(service)
        with ThreadPoolExecutor(1) as pool:
            lesson = pool.submit(learn, client, "flat", stripes(0, 3))
            while service.teacher.depth < 1:
                threading.Event().wait(0.005)
            answer = predict(client, stripes(0, 2))
            check_problem(answer, 429, "too-many")
            assert int(answer.headers["retry-after"]) >= 1
            assert predict(client, stripes(0, 1)).status_code == 200
            assert metrics(client)["foro_waiting_images", ()] == 3
            may_end.set()
            assert lesson.result().status_code == 200
        assert predict(client, stripes(0, 4)).status_code == 200
        assert service.admission.images == service.admission.bytes == 0


def test_bytes_in_work_are_bounded() -> None:
    admission = Admission(most_bytes=100, most_images=10)
    with admission.hold_bytes() as first:
        first.grow(150)  # alone, anything that the limit of a request allows
        with admission.hold_bytes() as second, pytest.raises(Problem):
            second.grow(1)
    with admission.hold_bytes() as third:
        third.grow(60)
        with admission.hold_bytes() as fourth:
            fourth.grow(40)
            with pytest.raises(Problem):
                fourth.grow(1)
    assert admission.bytes == 0


@given(st.lists(st.floats(0, 3), max_size=60), st.floats(0.5, 50))
def test_no_more_than_the_rate_and_the_burst_in_the_long_run(pauses: list[float], rate: float) -> None:
    now = 0.0
    limit = RateLimit(rate, lambda: now)
    served = 0
    for pause in pauses:
        now += pause
        wait = limit.wait("client")
        served += wait == 0
        assert wait <= 1 / rate + 1e-9
    assert served <= rate * now + max(1.0, 2 * rate) + 1e-6


def test_a_client_that_waits_as_told_is_served() -> None:
    now = 0.0
    limit = RateLimit(1.0, lambda: now)
    assert [limit.wait("a") for _ in range(2)] == [0, 0]
    now += limit.wait("a")
    assert limit.wait("a") == 0
    assert limit.wait("b") == 0  # others have their own
    for number in range(MOST_CLIENTS + 10):
        limit.wait(str(number))
    assert len(limit._clients) == MOST_CLIENTS
    assert not any(RateLimit(0).wait("a") for _ in range(1000))


def test_every_answer_has_an_id_and_the_headers_that_keep_a_browser_safe(client: httpx.Client) -> None:
    for answer in (client.get("/"), client.get("/nowhere"), client.get("/v1/classes"), client.put("/v1/learn")):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["permissions-policy"].startswith("camera=(self)")
        assert answer.headers["cache-control"] in ("no-store", "no-cache")
        assert "server" not in answer.headers
        assert len(answer.headers["x-request-id"]) == 32
    assert client.get("/", headers={"X-Request-ID": "mine-1.a_b"}).headers["x-request-id"] == "mine-1.a_b"
    for bad in ("a b", "x" * 65, "<script>", "a;b"):
        assert client.get("/", headers={"X-Request-ID": bad}).headers["x-request-id"] != bad


def test_unknown_addresses_and_methods_are_problems(client: httpx.Client) -> None:
    for path in ("/nowhere", "/v1", "/v2/predict", "/static", "/static/", "/static/x.js", "/v1/classes/a/b/c/d"):
        check_problem(
            client.get(path),
            405 if path.startswith("/v1/classes/") else 404,
            "bad-method" if path.startswith("/v1/classes/") else "not-found",
        )
    answer = client.put("/v1/learn")
    check_problem(answer, 405, "bad-method")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "name",
    ["..%2Fapp.py", "%2e%2e/app.py", "..%5Capp.py", "/etc/passwd", "%2Fetc%2Fpasswd", "app.js%00.css", "../gate.py"],
)
def test_no_path_reaches_the_file_system(client: httpx.Client, name: str) -> None:
    connection = httpx.Client(base_url=client.base_url)
    request = connection.build_request("GET", "/static/x")
    request.url = request.url.copy_with(raw_path=f"/static/{name}".encode())
    assert connection.send(request).status_code == 404


def test_files_of_the_page_are_sent_once(client: httpx.Client) -> None:
    first = client.get("/static/style.css")
    assert first.headers["content-type"] == "text/css; charset=utf-8"
    again = client.get("/static/style.css", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_metrics_count(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone) as (client, _):
        learn(client, "flat", stripes(0, 3))
        predict(client, [*stripes(0, 2), b"hello"])
        client.request("BREW", "/v1/learn")
        found = metrics(client)
    assert found["foro_images_learned_total", ()] == 3
    assert found["foro_images_predicted_total", ()] == 2
    assert found["foro_requests_total", (("method", "POST"), ("route", "/v1/learn"), ("status", "200"))] == 1
    assert found["foro_requests_total", (("method", "other"), ("route", "/v1/learn"), ("status", "405"))] == 1
    assert found["foro_samples", ()] == 3
    assert found["foro_classes", ()] == 1
    asked = (("method", "POST"), ("route", "/v1/predict"))
    cells = [value for (name, labels), value in found.items() if name.endswith("_bucket") and labels[1:] == asked]
    assert len(cells) == len(BUCKETS) + 1
    assert cells == sorted(cells)
    assert cells[-1] == found["foro_request_seconds_count", asked] == 1
    assert not any(name.endswith("_created") for name, _ in found)


def test_a_failure_of_ours_says_nothing_about_us(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, tiny_backbone) as (client, service):
        learn(client, "flat", stripes(0, 1))
        monkeypatch.setattr(type(service.backbone), "embed", lambda *_: 1 / 0)
        answer = predict(client, stripes(0, 1))
        monkeypatch.undo()
        body = check_problem(answer, 500, "internal")
        assert "ZeroDivision" not in json.dumps(body)
        assert predict(client, stripes(0, 1)).status_code == 200
    assert "division by zero" in caplog.text
