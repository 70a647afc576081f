from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

from foro.backbones import Backbone
from foro.client import AsyncClient, Client, ServiceError
from foro.errors import FoRoError
from foro.learner import Learner
from tests.conftest import textures
from tests.serve.running import running, stripes

TEACH = "a-token-that-may-teach"


@pytest.fixture
def address(tmp_path: Path, tiny_backbone: Backbone) -> Iterator[str]:
    with running(tmp_path, tiny_backbone, teach_token=TEACH) as (client, _):
        yield str(client.base_url)


def test_teaches_asks_and_takes_back(address: str, tmp_path: Path, tiny_backbone: Backbone) -> None:
    path = tmp_path / "one.png"
    path.write_bytes(stripes(0, 1, seed=9)[0])
    with Client(address, TEACH) as client:
        lesson = client.learn([*stripes(0, 20), b"no image"], "a/flat one")  # more than one request has room for
        assert (lesson.learned, lesson.count, lesson.replayed) == (20, 20, False)
        assert [position for position, _ in lesson.skipped] == [20]
        client.learn(stripes(1, 6), "steep", key="monday")
        assert client.learn(stripes(1, 6), "steep", key="monday").replayed
        answers = client.predict([path, b"no image", *stripes(1, 20, seed=9)], top=1)
        assert [answer.label for answer in answers] == ["a/flat one", None] + ["steep"] * 20
        assert answers[1].problem is not None
        assert 0 < answers[0].confidence <= 1
        assert len(answers[0].top) == 1
        client.forget("a/flat one")
        assert [(each.label, each.count) for each in client.classes()] == [("steep", 6)]
        client.restore("a/flat one")
        client.rename("steep", "steeper")
        assert [each.label for each in client.classes()] == ["steeper", "a/flat one"]
        assert client.undo() == "rename"
        assert {each.label for each in client.classes()} == {"steep", "a/flat one"}
        client.learn(stripes(2, 20), "wide")
        assert client.unlearn(stripes(2, 20), "wide") == 20  # whatever came after
        with pytest.raises(ServiceError, match="never learned"):
            client.unlearn(stripes(2, 1), "wide")
        (tmp_path / "copy.foro").write_bytes(client.model())
        assert Learner.load(tmp_path / "copy.foro", tiny_backbone).head.samples == 26
        other = Learner(tiny_backbone, policy="none", projection_dim=64)
        other.learn(*textures(2, seed=7))
        other.save(tmp_path / "other.foro")
        assert client.merge(tmp_path / "other.foro") == 8
        with pytest.raises(FoRoError, match="no image to learn"):
            client.learn([], "flat")


def test_the_same_with_asyncio(address: str) -> None:
    async def use() -> None:
        async with AsyncClient(address, TEACH) as client:
            lessons = await asyncio.gather(
                *(client.learn(stripes(kind, 5), label) for kind, label in enumerate(["flat", "steep"]))
            )
            assert [lesson.learned for lesson in lessons] == [5, 5]
            assert (await client.predict(stripes(1, 1, seed=9)))[0].label == "steep"
            await client.forget("flat")
            assert [each.label for each in await client.classes()] == ["steep"]
            await client.restore("flat")
            assert await client.unlearn(stripes(0, 5), "flat") == 5
            assert len(await client.model()) > 1000

    asyncio.run(use())


def test_what_is_refused_is_told(address: str) -> None:
    with Client(address, "not the right token") as client, pytest.raises(ServiceError, match="token") as refused:
        client.classes()
    assert (refused.value.kind, refused.value.status) == ("token-needed", 401)
    assert refused.value.request_id
    with Client("http://127.0.0.1:9", tries=1) as client, pytest.raises(ServiceError, match="does not answer"):
        client.classes()


class Moody(BaseHTTPRequestHandler):
    """Is busy at first, then hangs up after it has read a request, and then answers."""

    seen: ClassVar[list[tuple[str, str, str | None]]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer()

    do_GET = do_DELETE = do_POST

    def _answer(self) -> None:
        self.seen.append((self.command, self.path, self.headers["Idempotency-Key"]))
        if len(self.seen) == 1:
            self.send_response(429)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif len(self.seen) == 2:
            self.close_connection = True
        else:
            shape = {"label": "cat", "learned": 1, "count": 1, "samples": 1, "skipped": [], "replayed": True}
            content = json.dumps({**shape, "accuracy": {"overall": None}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def moody() -> Iterator[str]:
    Moody.seen = []
    server = HTTPServer(("127.0.0.1", 0), Moody)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_lesson_is_sent_again_with_its_key(moody: str) -> None:
    with Client(moody) as client:
        assert client.learn([b"image"], "cat").replayed
    assert len(Moody.seen) == 3
    assert len({key for _, _, key in Moody.seen}) == 1
    assert Moody.seen[0][2]


def test_what_cannot_be_repeated_is_not(moody: str) -> None:
    with Client(moody) as client, pytest.raises(ServiceError) as lost:
        client.forget("cat")
    assert lost.value.kind == "unreachable"
    assert isinstance(lost.value.__cause__, httpx.TransportError)
    assert len(Moody.seen) == 2  # once when it was busy, and once for certain
