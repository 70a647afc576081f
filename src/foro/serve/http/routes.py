"""The routes for programs."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, BinaryIO, TypeVar

from fastapi import FastAPI, Header, Query, Request
from fastapi import Path as PathParameter
from fastapi.routing import APIRoute
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from foro.ledger import now
from foro.serve.http import schemas
from foro.serve.http.bodies import read_images, read_model
from foro.serve.http.metrics import MEDIA_TYPE as METRICS_MEDIA_TYPE
from foro.serve.http.metrics import Metrics
from foro.serve.http.multipart import malformed
from foro.serve.problems import Problem
from foro.serve.work.published_model import PublishedModel
from foro.serve.work.service import Service, told
from foro.snapshot import best_labels
from foro.util.html import render

TOP = 5
"""Labels of an answer, unless it is asked for others."""
DIGITS = 6

Result = TypeVar("Result")
Label = Annotated[str, PathParameter(min_length=1, description="the label, URL-encoded", examples=["dog"])]
NewLabel = Annotated[str, Query(description="the new label", examples=["hound"])]
Key = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="any text of your own: sent again with it, the same is not done twice",
        examples=["monday-cats-1"],
    ),
]

Again = Annotated[bool, Query(description="also learn images that were learned before: they get more weight")]
Relabel = Annotated[bool, Query(description="give this label to images that were learned before with another one")]


class Json(JSONResponse):
    """JSON in which labels stay readable."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class Bare(APIRoute):
    """A route that reads its request by itself: FastAPI describes it, and does nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint


def add_routes(app: FastAPI, service: Service, counters: Metrics) -> None:
    """Adds every route under ``/v1``, ``/healthz``, ``/readyz`` and ``/metrics``."""
    _add_service_routes(app, service, counters)
    _add_predict(app, service, counters)
    _add_learn(app, service, counters)
    _add_class_routes(app, service)
    _add_model_routes(app, service)


def _add_service_routes(app: FastAPI, service: Service, counters: Metrics) -> None:
    @app.get("/healthz", responses={200: {"model": schemas.Health}})
    async def healthz() -> Response:
        """Whether the service is up, and what it knows; needs no token."""
        published = service.published
        return Json(
            {
                "status": "ok",
                "model": service.name,
                "backbone": service.backbone.name,
                "classes": len(published.labels),
                "samples": published.samples,
                "model_version": published.version,
            }
        )

    @app.get("/readyz", responses={200: {"model": schemas.Ready}, 503: schemas.NOT_READY})
    async def readyz() -> Response:
        """Whether it can answer and what it learns can be kept; needs no token."""
        await service.check_ready()
        return Json({"status": "ready"})

    text = {"description": "Successful Response", "content": {"text/plain": {"schema": {"type": "string"}}}}

    @app.get("/metrics", response_class=Response, responses={200: text, **_picked(schemas.PROBLEMS, 401, 421, 429)})
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(counters.text(), media_type=METRICS_MEDIA_TYPE)


def _add_predict(app: FastAPI, service: Service, counters: Metrics) -> None:
    async def predict(request: Request) -> Response:
        """What is in the images: one or many files in the form's field images, or base64 in JSON."""
        asked = _asked_top(request)
        with service.admission.hold_bytes() as held:
            body = await read_images(request, service.config, held, service.predictor.pool)
            published = service.published
            if published.snapshot is None:
                raise Problem(409, "nothing-learned", "nothing has been learned yet: teach it something first")
            most = _top(body.top, asked)
            with service.admission.hold_images(len(body.images)):
                ticket = await _while_connected(request, service.predict(published.snapshot, body.images))
        counters.predicted.inc(sum(not isinstance(each, Problem) for each in ticket.results))
        labels = [str(label) for label in published.labels]
        results = [_result(each, labels, most) for each in ticket.results]
        return Json({"results": results, "model_version": published.version})

    app.router.add_api_route(
        "/v1/predict",
        predict,
        methods=["POST"],
        responses={200: {"model": schemas.Predictions}, **schemas.UPLOAD_PROBLEMS, **schemas.CONFLICT},
        openapi_extra=schemas.PREDICT_REQUEST,
        route_class_override=Bare,
    )


def _add_learn(app: FastAPI, service: Service, counters: Metrics) -> None:
    @app.post(
        "/v1/learn",
        responses={200: {"model": schemas.Learned}, **schemas.UPLOAD_PROBLEMS, 507: schemas.FULL},
        openapi_extra=schemas.LEARN_BODY,
    )
    async def learn(
        request: Request, idempotency_key: Key = None, again: Again = False, relabel: Relabel = False
    ) -> Response:
        """Learns images of one label, new or known; answered when it is on the disk.

        Images that were learned before with this label are not learned again.
        """
        with service.admission.hold_bytes() as held:
            body = await read_images(request, service.config, held, service.lessons)
            with service.admission.hold_images(len(body.images)):
                work = service.learn(body.label, body.images, idempotency_key, again, relabel)
                answer = await _while_connected(request, work)
        counters.learned.inc(0 if answer["replayed"] else answer["learned"])
        return Json(answer)

    @app.post(
        "/v1/unlearn",
        responses={200: {"model": schemas.Unlearned}, **schemas.UPLOAD_PROBLEMS, 507: schemas.FULL},
        openapi_extra=schemas.LEARN_BODY,
    )
    async def unlearn(request: Request, idempotency_key: Key = None) -> Response:
        """Takes the influence of these very images back, exactly: any lesson, however many came after it.

        If one of them was never learned with this label, nothing is taken back.
        """
        with service.admission.hold_bytes() as held:
            body = await read_images(request, service.config, held, service.lessons)
            with service.admission.hold_images(len(body.images)):
                return Json(await _while_connected(request, service.unlearn(body.label, body.images, idempotency_key)))


def _add_class_routes(app: FastAPI, service: Service) -> None:
    reading, changing = _picked(schemas.PROBLEMS, 401, 421, 429), _picked(schemas.PROBLEMS, 401, 403, 421, 429)

    @app.get("/v1/classes", responses={200: {"model": schemas.Classes}, **reading})
    async def classes() -> Response:
        """Every label with its count, the accuracy to be expected of it, and when it was last taught."""
        return Json({**_classes(service.published), "thumbnails": service.config.keep_thumbnails})

    @app.get("/v1/review", responses={200: {"model": schemas.Reviewed}, **reading})
    async def review() -> Response:
        """Which classes are confused, and which need images most: from samples that were left out one at a time."""
        return Json(await service.review())

    @app.get("/v1/thumbnails/{label:path}", responses={200: {"model": schemas.Thumbnails}, **changing})
    async def thumbnails(label: Label) -> Response:
        """Small copies of up to 24 learned images of a label, the newest first; none without --keep-thumbnails."""
        files = await service.thumbnails(label)
        return Json({"thumbnails": [f"data:image/jpeg;base64,{base64.b64encode(each).decode()}" for each in files]})

    @app.post(
        "/v1/classes/{label:path}/restore",
        responses={200: {"model": schemas.Changed}, **changing, **schemas.MISSING, 507: schemas.FULL},
    )
    async def restore(label: Label) -> Response:
        """Predicts a forgotten label again, as if it had never been forgotten."""
        return Json(await service.restore(label))

    @app.post(
        "/v1/classes/{label:path}/rename",
        responses={
            200: {"model": schemas.Changed},
            **changing,
            **schemas.MISSING,
            422: schemas.UPLOAD_PROBLEMS[422],
            507: schemas.FULL,
        },
    )
    async def rename(label: Label, to: NewLabel) -> Response:
        """Calls a label something else; one that is known already makes one class of both."""
        return Json(await service.rename(label, to))

    @app.delete(
        "/v1/classes/{label:path}",
        responses={200: {"model": schemas.Changed}, **changing, **schemas.MISSING, 507: schemas.FULL},
    )
    async def forget(label: Label) -> Response:
        """Never predicts the label again, until it is restored or taught anew."""
        return Json(await service.forget(label))


def _add_model_routes(app: FastAPI, service: Service) -> None:
    binary = {
        "application/octet-stream": {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}
    }

    @app.get(
        "/v1/model",
        response_class=Response,
        responses={
            200: {"description": "The model file.", "content": binary},
            **_picked(schemas.PROBLEMS, 401, 403, 421, 429),
            507: schemas.FULL,
        },
    )
    async def model() -> Response:
        """The model file, with everything that was learned so far."""
        return _download(await service.saved_file(), "model.foro")

    @app.get(
        "/v1/onnx",
        response_class=Response,
        responses={
            200: {"description": "The ONNX file.", "content": binary},
            **_picked(schemas.UPLOAD_PROBLEMS, 401, 403, 421, 422, 429),
            **schemas.CONFLICT,
            507: schemas.FULL,
        },
    )
    async def onnx() -> Response:
        """One ONNX graph from an image's bytes to probabilities, for any program with an ONNX runtime."""
        return _download(await service.onnx_file(), "model.onnx")

    page = {"text/html": {"schema": {"type": "string"}}}

    @app.get(
        "/v1/report",
        response_class=Response,
        responses={
            200: {"description": "The report.", "content": page},
            **_picked(schemas.PROBLEMS, 401, 421, 429),
        },
    )
    async def report() -> Response:
        """What the model knows, and how well, as a page that needs nothing else."""
        values = {"model": service.name, "backbone": service.backbone.name, "time": now()}
        html = render("serve/http/templates/report.html.j2", **values, **_classes(service.published))
        return HTMLResponse(html, headers={"Content-Disposition": 'attachment; filename="report.html"'})

    @app.post(
        "/v1/undo",
        responses={
            200: {"model": schemas.Undone},
            **_picked(schemas.PROBLEMS, 401, 403, 421, 429),
            **schemas.CONFLICT,
            507: schemas.FULL,
        },
    )
    async def undo(idempotency_key: Key = None) -> Response:
        """Takes the last change back, whatever it was; sent again, the one before."""
        return Json(await service.undo(idempotency_key))

    @app.post(
        "/v1/merge",
        responses={
            200: {"model": schemas.Merged},
            **schemas.UPLOAD_PROBLEMS,
            **schemas.CONFLICT,
            507: schemas.FULL,
        },
        openapi_extra=schemas.MERGE_BODY,
    )
    async def merge(request: Request, idempotency_key: Key = None, again: Again = False) -> Response:
        """Adds everything that another model has learned; it must have the same backbone, projection and prompt.

        Where one of the two has learned all that the other has, nothing counts twice; other overlaps are refused.
        """
        # Beside the model file, because that folder can be written; its name is ours, never the client's, and one that
        # the next start removes if this process is killed.
        prefix = f".{service.name}.{os.getpid()}."
        with (
            service.admission.hold_upload(),
            NamedTemporaryFile(dir=service.path.parent, prefix=prefix, suffix=".part") as file,
        ):
            await read_model(request, file.file, service.config.most_model_megabytes)
            return Json(await service.merge(Path(file.name), idempotency_key, again))


async def _while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """What the work finds; work for a client that has hung up is given up. A change that has begun is finished."""
    working, leaving = asyncio.create_task(work), asyncio.ensure_future(request.receive())
    leaving.add_done_callback(lambda _: working.cancel())
    try:
        return await working
    except asyncio.CancelledError:
        if leaving.done() and not leaving.cancelled():
            raise malformed("the connection was closed") from None
        raise
    finally:
        working.cancel()
        leaving.cancel()


def _asked_top(request: Request) -> int:
    """How many labels the address asks for; 0 if it does not."""
    if not request.scope["query_string"]:
        return 0
    text = request.query_params.get("top", "0")
    return _checked_top(int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text)


def _top(given: object, asked: int) -> int:
    return (0 if given is None else _checked_top(given)) or asked or TOP


def _checked_top(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= 1000:
        raise Problem(422, "bad-request", "top must be a whole number from 0 to 1000")
    return given


def _result(found: Any, labels: list[str], most: int) -> dict[str, Any]:
    if isinstance(found, Problem):
        return {"error": found.body()}
    best = best_labels(labels, found.probabilities, most)
    top = [{"label": label, "confidence": round(sure, DIGITS)} for label, sure in best]
    unknown = None if found.unknown is None else round(found.unknown, DIGITS)
    return {**top[0], "unknown": unknown, "top": top}


def _classes(published: PublishedModel) -> dict[str, Any]:
    judged = published.estimate.classes
    return {
        "classes": [
            {
                "label": str(label),
                "count": count,
                "accuracy": judged[label][1] / judged[label][0] if judged.get(label, (0, 0))[0] else None,
                "last_taught": published.taught.get(label),
            }
            for label, count in published.counts.items()
        ],
        "samples": published.samples,
        "accuracy": published.estimate.accuracy,
        "history": [
            {"time": time, "accuracy": accuracy, "samples": samples} for time, accuracy, samples in published.measured
        ],
        "removed": [str(label) for label in published.forgotten],
        "undo": [told(event) for event in published.undoable],
        "model_version": published.version,
    }


def _download(file: BinaryIO, name: str) -> Response:
    size = os.fstat(file.fileno()).st_size
    headers = {"Content-Length": str(size), "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_pieces(file), headers=headers, media_type="application/octet-stream")


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    try:
        while piece := await asyncio.to_thread(file.read, 2**20):
            yield piece
    finally:
        file.close()


def _picked(problems: dict[int | str, dict[str, Any]], *statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: problems[status] for status in statuses}
