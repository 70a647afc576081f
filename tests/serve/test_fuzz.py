"""The service against whatever its own description allows, against what it does not allow, and against bad images."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from foro.backbones import Backbone
from tests.bad_images import BAD, UNUSUAL
from tests.serve.running import learn, predict, quiet, running, stripes, teach_all

OPERATIONS = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("POST", "/v1/predict"),
    ("POST", "/v1/learn"),
    ("POST", "/v1/unlearn"),
    ("GET", "/v1/classes"),
    ("GET", "/v1/review"),
    ("GET", "/v1/thumbnails/{label}"),
    ("POST", "/v1/classes/{label}/restore"),
    ("POST", "/v1/classes/{label}/rename"),
    ("DELETE", "/v1/classes/{label}"),
    ("GET", "/v1/model"),
    ("GET", "/v1/onnx"),
    ("GET", "/v1/report"),
    ("POST", "/v1/merge"),
    ("POST", "/v1/undo"),
]
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
FUZZ = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, tiny_backbone: Backbone) -> Iterator[httpx.Client]:
    with running(tmp_path_factory.mktemp("fuzzed"), tiny_backbone) as (client, _):
        teach_all(client)
        yield client


@pytest.fixture(scope="module")
def schema(client: httpx.Client) -> Any:
    return schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")


def test_every_operation_is_tried(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {(method.upper(), path) for path, entries in paths.items() for method in entries} == set(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_nothing_that_is_allowed_breaks_the_service(client: httpx.Client, schema: Any, method: str, path: str) -> None:
    _fuzz(schema, method, path, GenerationMode.POSITIVE)
    teach_all(client)  # undo takes lessons back


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/learn", "/v1/unlearn", "/v1/merge"])
def test_nothing_that_is_not_allowed_breaks_the_service(schema: Any, path: str) -> None:
    _fuzz(schema, "POST", path, GenerationMode.NEGATIVE)


def _fuzz(schema: Any, method: str, path: str, mode: GenerationMode) -> None:
    @FUZZ
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def fuzz(case: Case) -> None:
        answer = case.call_and_validate(checks=CHECKS)
        if answer.headers.get("content-type") != ["application/octet-stream"]:
            assert quiet(answer.text)

    fuzz()


@FUZZ
@given(
    content=st.binary(max_size=300),
    kind=st.sampled_from(
        ["application/json", "multipart/form-data; boundary=b", "multipart/form-data; boundary=", "x"]
    ),
    path=st.sampled_from(["/v1/predict", "/v1/learn", "/v1/merge"]),
)
def test_no_body_breaks_the_service(client: httpx.Client, content: bytes, kind: str, path: str) -> None:
    answer = client.post(path, content=content, headers={"content-type": kind})
    assert 400 <= answer.status_code < 500
    assert quiet(answer.text)


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_images_are_read(client: httpx.Client, name: str) -> None:
    (result,) = predict(client, [UNUSUAL[name]()]).json()["results"]
    assert result["label"]


@pytest.mark.parametrize("name", BAD)
def test_bad_images_are_told(client: httpx.Client, name: str) -> None:
    data = BAD[name]()
    answer = predict(client, [data])
    error = answer.json()["results"][0]["error"]
    assert error["status"] in (413, 422)
    assert error["detail"]
    assert quiet(answer.text)
    refused = learn(client, "never", [data])
    assert refused.status_code == 422
    assert quiet(refused.text)


@FUZZ
@given(
    name=st.sampled_from(sorted(UNUSUAL)),
    places=st.lists(st.tuples(st.integers(0, 10**5), st.integers(1, 255)), max_size=6),
    length=st.floats(0, 1),
)
def test_damaged_images_never_break_the_service(
    client: httpx.Client, name: str, places: list[tuple[int, int]], length: float
) -> None:
    data = bytearray(UNUSUAL[name]())
    for place, change in places:
        data[place % len(data)] ^= change
    answer = predict(client, [bytes(data[: max(1, round(length * len(data)))])])
    assert answer.status_code == 200
    assert quiet(answer.text)


@pytest.mark.skipif(sys.platform == "win32", reason="the peak of memory is not told there")
def test_bombs_do_not_fill_the_memory(client: httpx.Client) -> None:
    bad = [make() for make in BAD.values()] * 8
    predict(client, stripes(0, 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(5):
        assert all("error" in result for result in predict(client, bad).json()["results"])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown / (1024 if sys.platform == "linux" else 2**20) < 150  # megabytes; one bomb would be 900
