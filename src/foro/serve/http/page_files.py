"""The page and what it needs, held in memory: a client can name one of these files, and no other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response

from foro.serve.problems import Problem
from foro.util.html import render

FOLDER = Path(__file__).parent.parent / "page"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class PageFile:
    """A file's bytes, with the name by which a browser asks whether they have changed."""

    content: bytes
    media_type: str
    tag: str


def read_page() -> dict[str, PageFile]:
    """Every file of the page, by name."""
    files = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in MEDIA_TYPES:
            content = path.read_bytes()
            files[path.name] = PageFile(content, MEDIA_TYPES[path.suffix], f'"{sha256(content).hexdigest()[:16]}"')
    return files


def add_page(app: FastAPI) -> None:
    """Adds the page at ``/``, its files under ``/static``, and the reference at ``/docs``."""
    files = read_page()

    def send(request: Request, file: PageFile) -> Response:
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.media_type)

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        if "index.html" not in files:
            raise Problem(404, "not-found", "this installation has no page")
        return send(request, files["index.html"])

    @app.get("/service_worker.js", include_in_schema=False)
    @app.get("/manifest.webmanifest", include_in_schema=False)
    async def beside(request: Request) -> Response:
        """Files whose address says what they are for: the page beside them, and all below."""
        return send(request, files[request.url.path.rpartition("/")[2]])

    @app.get("/static/{name}", include_in_schema=False)
    async def static(request: Request, name: str) -> Response:
        if name not in files:
            raise Problem(404, "not-found", "there is no such file")
        return send(request, files[name])

    @app.get("/docs", include_in_schema=False)
    async def reference() -> Response:
        """The OpenAPI description for people, without a script or anything from elsewhere."""
        template = "serve/http/templates/api_reference.html.j2"
        return HTMLResponse(render(template, description=app.openapi(), json=partial(json.dumps, ensure_ascii=False)))
