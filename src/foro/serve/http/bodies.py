"""The body of a request: images with fields, as a form or as JSON, or a model; never more than allowed."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import IO, Any

from starlette.requests import ClientDisconnect, Request

from foro.serve.http.multipart import FormReader, malformed
from foro.serve.problems import Problem
from foro.serve.service_config import ServeConfig
from foro.serve.work.admission import MEGABYTE, Held

LONGEST_FIELD = 4096
LONGEST_READING = 60
"""Seconds that a client has to send a body, and one more for every ``SLOWEST`` bytes that have come."""
SLOWEST = 2**15
PUNCTUATION = 16
"""Marks of JSON that an image may need, and as many images' worth for everything else."""
LARGE_BODY = 2**18
"""Bytes from which on JSON is read by another thread, so that others are answered meanwhile."""


@dataclass
class Body:
    """Encoded images, and the other fields; an image that is None was not valid base64."""

    images: list[bytes | None] = field(default_factory=list)
    label: object = None
    top: object = None


async def read_images(request: Request, config: ServeConfig, held: Held, pool: Executor) -> Body:
    """At least one image and not too many: files in ``images`` of a form, or base64 in ``images`` of JSON."""
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    reader = _ImageForm(content_type) if kind == "multipart/form-data" else None
    raw = bytearray()
    await _read(request, config.most_megabytes, held, reader.feed if reader else raw.extend)
    if reader:
        body = reader.body()
    elif kind != "application/json":
        raise Problem(415, "unsupported-body", "send images as multipart/form-data, or as base64 in application/json")
    elif len(raw) < LARGE_BODY:
        body = _from_json(raw, config.most_images)
    else:
        body = await asyncio.get_running_loop().run_in_executor(pool, _from_json, raw, config.most_images)
    if not body.images:
        raise Problem(422, "no-image", "there is no image: send files in the field images")
    if len(body.images) > config.most_images:
        raise _too_many(config.most_images)
    return body


async def read_model(request: Request, file: IO[bytes], most_megabytes: float) -> None:
    """Writes the field ``model`` of a form to a file as it comes, because it may be too large for the memory."""
    content_type = request.headers.get("content-type", "")
    if not content_type.lower().startswith("multipart/form-data"):
        raise Problem(415, "unsupported-body", "send the model as multipart/form-data, in the field model")
    found = 0

    def open_field(name: str) -> Callable[[bytes], Any]:
        nonlocal found
        if name != "model":
            return _ignore
        found += 1
        if found > 1:
            raise malformed("it has more than one model")
        return file.write

    reader = FormReader(content_type, open_field)
    try:
        async for piece in _pieces(request, most_megabytes):
            reader.feed(piece)
        reader.finish()
        file.flush()
    except OSError:
        raise Problem(507, "cannot-write", "there is no room for the uploaded model") from None
    if not found:
        raise Problem(422, "no-model", "there is no model: send a file in the field model")


async def _read(request: Request, most_megabytes: float, held: Held, feed: Callable[[bytes], Any]) -> None:
    problem = None
    async for piece in _pieces(request, most_megabytes):
        held.grow(len(piece))
        try:
            if problem is None:
                feed(piece)
        except Problem as found:  # for the end: a client that is still sending does not read an answer
            problem = found
    if problem:
        raise problem


async def _pieces(request: Request, most_megabytes: float) -> AsyncIterator[bytes]:
    """The body as it comes; refused as soon as it is known to be too long, or when it comes too slowly."""
    limit = most_megabytes * MEGABYTE
    announced = request.headers.get("content-length", "")
    total = int(announced[:20]) if announced.isascii() and announced.isdecimal() else 0
    too_long = Problem(413, "too-large", f"a request may have {most_megabytes:g} MB at most", {"Connection": "close"})
    if total > limit:
        raise too_long
    total, stream = 0, request.stream()
    with _Patience() as patience:
        while True:
            try:
                piece = await anext(stream)
            except StopAsyncIteration:
                return
            except ClientDisconnect:
                raise malformed("the connection was closed") from None
            total += len(piece)
            if total > limit:
                raise too_long
            patience.bytes = total
            yield piece


class _Patience:
    """Ends the task that reads a body when that comes too slowly; one timer, however many pieces there are."""

    def __enter__(self) -> _Patience:
        self.bytes = 0
        self._over = False
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._start = self._loop.time()
        self._look()
        return self

    def _look(self) -> None:
        end = self._start + LONGEST_READING + self.bytes / SLOWEST
        if end > self._loop.time():
            self._timer = self._loop.call_at(end, self._look)
        elif self._task is not None:
            self._over = self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        self._timer.cancel()
        if self._over and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise Problem(408, "too-slow", "the body comes too slowly", {"Connection": "close"}) from None


class _ImageForm:
    """The images and fields of a form, piece by piece."""

    def __init__(self, content_type: str) -> None:
        self._images: list[bytearray] = []
        self._fields: dict[str, bytearray] = {}
        self._reader = FormReader(content_type, self._open)
        self.feed = self._reader.feed

    def _open(self, name: str) -> Callable[[bytes], Any]:
        content = bytearray()
        if name == "images":
            self._images.append(content)
        elif name in ("label", "top"):
            if name in self._fields:
                raise malformed(f"it has the field {name} twice")
            self._fields[name] = content
        else:
            return _ignore
        return content.extend

    def body(self) -> Body:
        self._reader.finish()
        body = Body([bytes(image) for image in self._images])
        try:
            if "label" in self._fields:
                body.label = self._fields["label"].decode()
            if "top" in self._fields:
                body.top = int(self._fields["top"][:LONGEST_FIELD])
        except ValueError:
            raise malformed("label must be UTF-8, and top a whole number") from None
        return body


def _ignore(_piece: bytes) -> None:
    """Takes the content of a field that is not asked for."""


def _too_many(most_images: int) -> Problem:
    return Problem(413, "too-many-images", f"a request may have {most_images} images at most")


def _from_json(raw: bytearray, most_images: int) -> Body:
    # Before anything is made of it: a few megabytes can hold millions of empty values. Base64 has none of these marks.
    most = PUNCTUATION * (most_images + PUNCTUATION)
    if raw.count(b'"') + raw.count(b",") > most:
        raise _too_many(most_images)
    if raw.count(b"[") + raw.count(b"{") > most:
        raise malformed("it has too many lists and objects")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise malformed("it is not JSON as its header says") from None
    if not isinstance(content, dict) or not isinstance(content.get("images"), list):
        raise malformed('JSON must be an object such as {"images": ["…base64…"]}')
    return Body([_from_base64(image) for image in content["images"]], content.get("label"), content.get("top"))


def _from_base64(text: object) -> bytes | None:
    if not isinstance(text, str):
        raise malformed("an image in JSON must be a base64 string")
    if text.startswith("data:"):  # as a browser's canvas and FileReader give it
        text = text.partition(",")[2]
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
