"""Runs the service until it is asked to stop; then it finishes what it is doing and saves the model."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import uvicorn

from foro.durable import DurableLearner
from foro.errors import InputError
from foro.learner import Learner
from foro.serve.http.asgi import create_app
from foro.serve.http.http_connection import MOST_CONNECTIONS, Connection
from foro.serve.logs import log, start_logging
from foro.serve.service_config import ServeConfig
from foro.serve.work.service import Service

KEEP_ALIVE_SECONDS = 30
LONGEST_ENDING = 30
"""Seconds that requests in work have to end when the service stops."""


def serve(
    model: Path,
    config: ServeConfig,
    create: Callable[[], Learner],
    ready: Callable[[str, Service], None],
    *,
    backbone: str | None = None,
    log_level: str = "info",
) -> None:
    """Serves a model, which is created if it is not there; ``ready`` is called with the address."""
    start_logging(log_level)
    listener = listen(config)  # first: if the port is taken, nothing else is worth doing
    with listener:
        durable = DurableLearner.open(model, create=create, backbone=backbone, wait=False)
        if durable.recovered:
            log("recovered", what=durable.recovered)
        service = Service(durable, config)
        _warm_up(service)
        address = _address(config.host, listener)
        log("listening", address=address, model=service.name, classes=len(service.published.labels))
        ready(address, service)
        with _signals_taken():
            http_server(service).run(sockets=[listener])
        service.close()
        log("stopped")


def _warm_up(service: Service) -> None:
    """Sends an image through, so that the first request is not slower than others."""
    backbone = service.backbone
    backbone.forward(backbone.embed(np.zeros((1, 3, backbone.image_size, backbone.image_size), np.float32)))


def http_server(service: Service) -> uvicorn.Server:
    """What speaks HTTP; the service is closed when it ends."""
    return uvicorn.Server(
        uvicorn.Config(
            create_app(service),
            http=Connection,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=LONGEST_ENDING,
        )
    )


@contextmanager
def _signals_taken() -> Iterator[None]:
    """The HTTP server ends by itself on a signal, and then raises it again: to be asked to stop is no failure."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def listen(config: ServeConfig) -> socket.socket:
    """A socket at the address of the settings."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            config.host.strip("[]"), config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(MOST_CONNECTIONS)
    except OSError as error:
        raise InputError(f"cannot listen on {config.host} port {config.port}: {error.strerror or error}") from None
    return listener


def _address(host: str, listener: socket.socket) -> str:
    name = host.strip("[]")
    return f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}/"
