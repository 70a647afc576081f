"""What can go wrong, as ``application/problem+json``: a type for programs and one sentence for people."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """An answer that is an error; ``kind`` names it for programs, ``detail`` is one sentence for people."""

    def __init__(
        self, status: int, kind: str, detail: str, headers: dict[str, str] | None = None, **more: object
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = headers or {}
        self.more = more

    def body(self, request_id: str | None = None) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": f"urn:foro:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        if request_id is not None:
            body["request_id"] = request_id
        return body

    def response(self, request_id: str | None = None) -> Response:
        content = json.dumps(self.body(request_id), ensure_ascii=False).encode("utf-8", "replace")
        return Response(content, self.status, self.headers, MEDIA_TYPE)


def too_busy(detail: str, seconds: float = 1.0) -> Problem:
    """Come back later."""
    return Problem(429, "too-many", detail, {"Retry-After": str(max(1, round(seconds)))})
