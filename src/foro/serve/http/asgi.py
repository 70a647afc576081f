"""The ASGI application: routes, the page, errors, and the gate before them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

import foro
from foro.serve.http.gate import Gate
from foro.serve.http.metrics import Metrics
from foro.serve.http.openapi import complete
from foro.serve.http.page_files import add_page
from foro.serve.http.routes import Json, add_routes
from foro.serve.problems import Problem
from foro.serve.work.service import Service

DESCRIPTION = (
    "Ask an image classifier, and teach it new classes at any time. "
    "With tokens, send Authorization: Bearer TOKEN; errors are application/problem+json."
)


def create_app(service: Service) -> Gate:
    """The ASGI application; it starts with the service running and closes it at the end."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="FoRo",
        version=foro.__version__,
        description=DESCRIPTION,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        default_response_class=Json,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.add_exception_handler(Exception, _answer_failure)
    app.add_exception_handler(Problem, _answer_problem)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_validation_error)
    metrics = Metrics(service)
    add_routes(app, service, metrics)
    add_page(app)
    complete(app.openapi())
    return Gate(app, service.config, metrics)


async def _answer_failure(request: Request, _error: Exception) -> Response:
    """A fault of ours; the gate writes it to the log."""
    detail = "something went wrong; the log of the service has it by request id"
    return Problem(500, "internal", detail).response(request.state.request_id)


async def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response(request.state.request_id)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = {
        404: ("not-found", "there is nothing at this address"),
        405: ("bad-method", "this address takes other methods"),
    }
    kind, detail = known.get(error.status_code, ("bad-request", "the request cannot be served"))
    return Problem(error.status_code, kind, detail, dict(error.headers or {})).response(request.state.request_id)


async def _answer_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1])
    return Problem(422, "bad-request", f"{name}: {first['msg']}").response(request.state.request_id)
