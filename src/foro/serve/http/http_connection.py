"""One connection: uvicorn's, with an end to silence, a share for each address, and refusals in our own words."""

from __future__ import annotations

import asyncio
import logging
import uuid
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from foro.serve.http.gate import SECURITY_HEADERS
from foro.serve.logs import log
from foro.serve.problems import MEDIA_TYPE, Problem

MOST_CONNECTIONS = 512
MOST_FROM_ONE = 128
"""Connections from one address; of a reverse proxy, all clients together."""
LONGEST_HEAD = 15.0
"""Seconds that a new connection may be silent, and that the head of a request may take."""
LONGEST_STALL = 60.0
"""Seconds that a client may take none of its answer."""


class Connection(H11Protocol):
    """Closes connections that hold a place without using it; uvicorn waits for them for ever."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # or the last bytes of an answer could wait for ever, unnoticed
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(503, "too-many-connections", "too many connections are open: try again in a moment")
        elif sum(_address(each) == _address(self) for each in self.connections) > MOST_FROM_ONE:
            self._refuse(503, "too-many-connections", "too many connections are open from this address")
        else:
            self._start("head", LONGEST_HEAD, self._end_waiting)

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._stop(name)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop("head")  # from here on, whoever reads the body has its own limit
        elif not self.transport.is_closing():
            self._start("head", LONGEST_HEAD, self._end_waiting)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("answer", LONGEST_STALL, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("answer")

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "malformed-request", "this is not a request of HTTP/1.1")

    def _start(self, name: str, seconds: float, end: Any) -> None:
        """Starts a timer, unless it runs already: more of the same does not put the end off."""
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, end)

    def _stop(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()

    def _end_waiting(self) -> None:
        if self.cycle is None and self.conn.trailing_data[0]:
            self._refuse(408, "too-slow", "the head of the request comes too slowly")
        else:
            self.transport.close()

    def _refuse(self, status: int, kind: str, detail: str) -> None:
        """Answers by itself and hangs up; in the middle of another answer it only hangs up."""
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            request_id = uuid.uuid4().hex
            response = Problem(status, kind, detail).response(request_id)
            own = {"content-type": MEDIA_TYPE, "content-length": len(response.body), "x-request-id": request_id}
            lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {own[name]}" for name in own)]
            lines += [f"{name.decode()}: {value.decode()}" for name, value in SECURITY_HEADERS]
            head = "\r\n".join([*lines, "cache-control: no-store", "connection: close", "", ""])
            self.transport.write(head.encode() + bytes(response.body))
            log("refused", logging.WARNING, request_id=request_id, status=status, client=_address(self), detail=detail)
        self.transport.close()


def _address(connection: Any) -> str:
    return str(connection.client[0]) if connection.client else "?"
