"""Who may ask for what: tokens, and on loopback, where none is needed, only programs and pages of this machine."""

from __future__ import annotations

import hmac
from functools import lru_cache
from hashlib import sha256
from typing import Literal
from urllib.parse import urlsplit

from foro.serve.problems import Problem
from foro.serve.service_config import ServeConfig, is_loopback

Level = Literal["open", "read", "teach"]


def needed(method: str, path: str) -> Level:
    """What a request must be allowed to do; whatever is not known to be harmless needs the teach token."""
    if path == "/metrics":
        return "read"
    if not path.startswith("/v1/"):
        return "open"
    # What was taught: the model, which has the keys of all who taught, too, and small copies of the images.
    if path in ("/v1/model", "/v1/onnx") or path.startswith("/v1/thumbnails/"):
        return "teach"
    return "read" if method in ("GET", "HEAD") or path == "/v1/predict" else "teach"


class Access:
    """Refuses, with a problem, requests that may not be served."""

    def __init__(self, config: ServeConfig) -> None:
        self._tokens = config.tokens
        self._read = _digest(config.read_token) if config.read_token else None
        self._teach = _digest(config.teach_token) if config.teach_token else None

    def check(self, method: str, path: str, headers: dict[bytes, bytes]) -> None:
        if self._tokens:
            self._check_token(needed(method, path), headers.get(b"authorization", b""))
        else:
            _check_host(headers.get(b"host", b""))
            if method not in ("GET", "HEAD"):
                _check_origin(headers)

    def _check_token(self, level: Level, authorization: bytes) -> None:
        if level == "open":
            return
        scheme, _, token = authorization.partition(b" ")
        given = _digest(token.strip()) if scheme.lower() == b"bearer" else b""
        # Both are compared every time, and digests of equal length: the time says nothing of either token.
        teaches = hmac.compare_digest(given, self._teach or bytes(32)) and self._teach is not None
        reads = hmac.compare_digest(given, self._read or bytes(32)) and self._read is not None
        if teaches or (reads and level == "read"):
            return
        if reads:
            raise Problem(403, "token-may-not-teach", "this token may predict, but neither teach nor have the model")
        missing = "this needs a token: send Authorization: Bearer TOKEN"
        raise Problem(
            401,
            "token-needed",
            "the token is not valid" if authorization else missing,
            {"WWW-Authenticate": 'Bearer realm="foro"'},
        )


def _check_host(host: bytes) -> None:
    """A page of the internet can make its own name point to this machine, but not hide that name from us."""
    if not _is_local(host):
        raise Problem(
            421,
            "foreign-host",
            "without a token this service answers to localhost only: use http://localhost, or set one",
        )


@lru_cache(16)
def _is_local(host: bytes) -> bool:
    try:
        return is_loopback(urlsplit(f"//{host.decode('ascii')}").hostname or "")
    except ValueError:
        return False


def _check_origin(headers: dict[bytes, bytes]) -> None:
    """A browser says which page sent a request; without a token, only our own page may change anything."""
    site = headers.get(b"sec-fetch-site")
    origin = headers.get(b"origin")
    same = origin is None or origin.lower().partition(b"://")[2] == headers.get(b"host", b"").lower()
    if not same or site not in (None, b"same-origin", b"none"):
        raise Problem(403, "foreign-page", "another web page may not use this service: set a token and send it")


def _digest(token: str | bytes) -> bytes:
    return sha256(token if isinstance(token, bytes) else token.encode()).digest()
