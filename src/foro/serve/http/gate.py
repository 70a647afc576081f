"""What every request passes: request id, limits, access, security headers, metrics and one line of log."""

from __future__ import annotations

import logging
import random
import re
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foro.serve.http.access import Access
from foro.serve.http.metrics import Metrics
from foro.serve.http.rate_limit import RateLimit
from foro.serve.logs import LOGGER, log
from foro.serve.problems import Problem, too_busy
from foro.serve.service_config import ServeConfig

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "media-src 'self' blob:; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"permissions-policy", b"camera=(self), microphone=(), geolocation=()"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_ROUTES = {
    "/",
    "/docs",
    "/service_worker.js",
    "/manifest.webmanifest",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
} | {
    f"/v1/{name}"
    for name in ("predict", "learn", "unlearn", "classes", "model", "onnx", "report", "merge", "undo", "review")
}


class Gate:
    """Wraps the application; answers by itself what must not reach it."""

    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: Metrics) -> None:
        self._app = app
        self._access = Access(config)
        self._rate = RateLimit(config.rate)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [(b"x-request-id", request_id.encode()), *SECURITY_HEADERS]
                named = {name for name, _ in message["headers"]}
                if b"cache-control" not in named:
                    own.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *own]
            await send(message)

        try:
            self._check(scope, headers)
            await self._app(scope, receive, answer)
        except Problem as problem:
            await problem.response(request_id)(scope, receive, answer)
        except Exception:
            LOGGER.exception("a request failed", extra={"facts": {"request_id": request_id}})
        finally:
            seconds = time.perf_counter() - start
            method, route = scope["method"], route_of(scope["path"])
            self._metrics.answered(method if method in _METHODS else "other", route, status, seconds)
            log(
                "request",
                logging.DEBUG if route in ("/healthz", "/readyz", "/metrics") else logging.INFO,
                request_id=request_id,
                method=method,
                route=route,
                status=status,
                milliseconds=round(1000 * seconds, 2),
                client=_client(scope),
            )

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy before us may believe the other one, and take the rest of the body for a request.
            detail = "Content-Length and Transfer-Encoding must not come together"
            raise Problem(400, "malformed-request", detail, {"Connection": "close"})
        if seconds := self._rate.wait(_client(scope)):
            raise too_busy("too many requests from this address: slow down", seconds)
        self._access.check(scope["method"], scope["path"], headers)


def route_of(path: str) -> str:
    """The route that a path belongs to; few, however many paths clients make up."""
    if path in _ROUTES:
        return path
    if path.startswith("/static/"):
        return "/static"
    if path.startswith("/v1/thumbnails/"):
        return "/v1/thumbnails/{label}"
    if path.startswith("/v1/classes/"):
        verb = path.rpartition("/")[2]
        return f"/v1/classes/{{label}}/{verb}" if verb in ("restore", "rename") else "/v1/classes/{label}"
    return "other"


def _request_id(headers: dict[bytes, bytes]) -> str:
    """The client's own, if it is harmless."""
    given = headers.get(b"x-request-id", b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else f"{random.getrandbits(128):032x}"


def _client(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else "?"
