from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from foro.backbones import Backbone
from foro.errors import InputError
from foro.serve.http.access import needed
from foro.serve.service_config import ServeConfig
from tests.serve.running import check_problem, form, learn, running, stripes

READ, TEACH = "may-only-predict-0", "may-also-teach-000"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, tiny_backbone: Backbone) -> Iterator[httpx.Client]:
    """A client without a token of a service that needs one."""
    folder = tmp_path_factory.mktemp("guarded")
    with running(folder, tiny_backbone, read_token=READ, teach_token=TEACH) as (client, _):
        assert learn(client, "flat", stripes(0, 2), **bearer(TEACH)).status_code == 200
        yield client


READING = [
    ("GET", "/v1/classes"),
    ("GET", "/v1/report"),
    ("GET", "/v1/review"),
    ("GET", "/metrics"),
    ("POST", "/v1/predict"),
]
TEACHING = [
    ("GET", "/v1/model"),
    ("GET", "/v1/onnx"),
    ("GET", "/v1/thumbnails/nobody"),
    ("POST", "/v1/learn"),
    ("POST", "/v1/unlearn"),
    ("POST", "/v1/merge"),
    ("POST", "/v1/undo"),
    ("DELETE", "/v1/classes/nobody"),
    ("POST", "/v1/classes/nobody/restore"),
    ("POST", "/v1/classes/nobody/rename?to=somebody"),
]
OPEN = [
    "/",
    "/static/app.js",
    "/manifest.webmanifest",
    "/service_worker.js",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/docs",
]


@pytest.mark.parametrize(("method", "path"), READING + TEACHING)
def test_nothing_goes_without_a_token(guarded: httpx.Client, method: str, path: str) -> None:
    answer = guarded.request(method, path)
    assert "Bearer TOKEN" in check_problem(answer, 401, "token-needed")["detail"]
    assert answer.headers["www-authenticate"] == 'Bearer realm="foro"'
    for wrong in ("Bearer", f"Bearer {TEACH}x", f"Bearer {TEACH[:-1]}", f"Basic {TEACH}", TEACH, "Bearer é"):
        answer = guarded.request(method, path, headers={"Authorization": wrong.encode("latin-1")})
        check_problem(answer, 401, "token-needed")


@pytest.mark.parametrize(("method", "path"), TEACHING)
def test_the_read_token_may_not_teach(guarded: httpx.Client, method: str, path: str) -> None:
    check_problem(guarded.request(method, path, headers=bearer(READ)), 403, "token-may-not-teach")
    assert guarded.request(method, path, headers=bearer(TEACH)).status_code in (200, 404, 409, 415)


@pytest.mark.parametrize("token", [READ, TEACH])
def test_both_tokens_may_read(guarded: httpx.Client, token: str) -> None:
    for path in ("/v1/classes", "/metrics"):
        assert guarded.get(path, headers=bearer(token)).status_code == 200
    learn(guarded, "flat", stripes(0, 2), **bearer(TEACH))  # another test may have taken it back
    answer = guarded.post("/v1/predict", files=form(stripes(0, 1)), headers=bearer(token))
    assert answer.json()["results"][0]["label"] == "flat"


@pytest.mark.parametrize("path", OPEN)
def test_the_page_needs_no_token(guarded: httpx.Client, path: str) -> None:
    assert guarded.get(path).status_code == 200


def test_with_a_token_any_name_of_the_host_will_do(guarded: httpx.Client) -> None:
    elsewhere = {"Host": "pets.example", "Origin": "https://pets.example", "Sec-Fetch-Site": "cross-site"}
    assert guarded.get("/v1/classes", headers=elsewhere | bearer(READ)).status_code == 200
    answer = guarded.delete("/v1/classes/nobody", headers=elsewhere | bearer(TEACH))
    assert answer.status_code == 404


def test_one_token_alone(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with running(tmp_path, tiny_backbone, read_token=READ) as (client, _):
        assert client.get("/v1/classes", headers=bearer(READ)).status_code == 200
        assert learn(client, "flat", stripes(0, 1), **bearer(READ)).status_code == 403
    with running(tmp_path, tiny_backbone, teach_token=TEACH) as (client, _):
        assert client.get("/v1/classes").status_code == 401
        assert client.get("/v1/classes", headers=bearer(TEACH)).status_code == 200


def test_what_is_not_known_to_be_harmless_needs_the_teach_token() -> None:
    assert needed("PUT", "/v1/anything") == needed("POST", "/v1/predict/more") == "teach"
    assert needed("GET", "/v1/anything") == needed("POST", "/v1/predict") == needed("GET", "/metrics") == "read"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "0.0.0.0", "[", "@"]
)
def test_a_name_that_points_here_from_elsewhere_is_refused(client: httpx.Client, host: str) -> None:
    for path in ("/", "/v1/classes", "/healthz"):
        check_problem(client.get(path, headers={"Host": host}), 421, "foreign-host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "127.0.0.2", "[::1]:8000"])
def test_names_of_this_machine_are_served(client: httpx.Client, host: str) -> None:
    assert client.get("/v1/classes", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_another_page_may_not_teach(client: httpx.Client, headers: dict[str, str]) -> None:
    before = client.get("/v1/classes").json()
    local = {"Host": "localhost"} | headers
    check_problem(learn(client, "evil", stripes(0, 1), **local), 403, "foreign-page")
    check_problem(client.delete("/v1/classes/flat", headers=local), 403, "foreign-page")
    assert client.get("/v1/classes").json() == before


def test_our_own_page_and_programs_may(client: httpx.Client) -> None:
    own = {"Host": "localhost:8000", "Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-origin"}
    assert client.delete("/v1/classes/nobody", headers=own).status_code == 404
    assert client.delete("/v1/classes/nobody").status_code == 404


def test_no_other_page_may_read_an_answer(client: httpx.Client) -> None:
    for answer in (
        client.get("/v1/classes", headers={"Origin": "https://evil.example"}),
        client.options(
            "/v1/learn", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        ),
    ):
        assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "pets.example", ""])
def test_refuses_to_be_open_to_everybody(host: str) -> None:
    with pytest.raises(InputError, match="needs a token, or anybody could teach: set FORO_TEACH_TOKEN"):
        ServeConfig(host=host)
    assert ServeConfig(host=host, teach_token=TEACH).tokens


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]", "localhost", "127.1.2.3"])
def test_loopback_needs_no_token(host: str) -> None:
    assert not ServeConfig(host=host).tokens


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"teach_token": "short"}, "teach token needs 16"),
        ({"read_token": "ünprintable in ASCII"}, "read token needs 16"),
        ({"read_token": TEACH, "teach_token": TEACH}, "must differ"),
        ({"port": 70_000}, "port must lie between"),
        ({"rate": -1}, "rate must not be negative"),
        ({"most_images": 0}, "most_images must be positive"),
        ({"most_megapixels": float("nan")}, "most_megapixels must be positive"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ServeConfig(**settings)  # type: ignore[arg-type]


def test_tokens_are_not_shown() -> None:
    assert TEACH not in repr(ServeConfig(teach_token=TEACH))
