"""A real service on a free port, in a thread of the tests, and what they send to it."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from foro.backbones import Backbone
from foro.durable import DurableLearner
from foro.learner import Learner
from foro.serve.http.server import http_server, listen
from foro.serve.service_config import ServeConfig
from foro.serve.work.service import Service
from tests.conftest import textures

CLASSES = ("flat", "steep", "wide")


@contextmanager
def running(
    folder: Path, backbone: Backbone, learner: dict[str, Any] | None = None, **settings: Any
) -> Iterator[tuple[httpx.Client, Service]]:
    """A client of a service whose model is in the folder, and the service itself."""

    def create() -> Learner:
        return Learner(backbone, **{"policy": "none", "projection_dim": 64, **(learner or {})})

    durable = DurableLearner.open(folder / "stripes.foro", create=create, backbone=backbone)
    service = Service(durable, ServeConfig(**{"port": 0, "rate": 0, **settings}))
    server, listener = http_server(service), listen(service.config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        time.sleep(0.005)
    port = listener.getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield client, service
    finally:
        server.should_exit = True
        thread.join()


def held_up(service: Service) -> threading.Event:
    """Has the service make a change that takes until the event is set; it has begun when this returns."""
    begun, may_end = threading.Event(), threading.Event()

    def slow(_durable: DurableLearner) -> None:
        begun.set()
        may_end.wait()

    service.teacher.submit(slow)
    begun.wait()
    return may_end


def png(image: NDArray[np.uint8] | Image.Image) -> bytes:
    """An image as the bytes of a PNG file."""
    file = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(file, "PNG")
    return file.getvalue()


def stripes(kind: int, count: int, seed: int = 0) -> list[bytes]:
    """Files of one kind of stripes."""
    images, _ = textures(count, classes=3, seed=seed)
    return [png(image) for image in images[kind::3]]


def form(images: list[bytes]) -> list[tuple[str, tuple[str, bytes]]]:
    return [("images", (f"../../{number}.png", data)) for number, data in enumerate(images)]


def learn(client: httpx.Client, label: str, images: list[bytes], **headers: str) -> httpx.Response:
    return client.post("/v1/learn", data={"label": label}, files=form(images), headers=headers)


def learn_again(client: httpx.Client, label: str, images: list[bytes], **headers: str) -> httpx.Response:
    return client.post("/v1/learn?again=true", data={"label": label}, files=form(images), headers=headers)


def predict(client: httpx.Client, images: list[bytes], **query: int) -> httpx.Response:
    return client.post("/v1/predict", files=form(images), params=query)


def teach_all(client: httpx.Client, count: int = 6) -> None:
    """Teaches three classes of stripes."""
    for kind, label in enumerate(CLASSES):
        assert learn(client, label, stripes(kind, count)).status_code == 200


def quiet(text: str) -> bool:
    """Whether an answer says nothing about the machine or the code."""
    places = str(Path(__file__).parents[2]), gettempdir(), "site-packages"
    return not any(word in text for word in ("Traceback", 'File "', ".py", "0x7f", *places))


def check_problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The body of an answer that says what went wrong, and nothing about the machine."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["type"] == f"urn:foro:problem:{kind}"
    assert body["status"] == status
    assert body["title"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert quiet(response.text)
    return body
