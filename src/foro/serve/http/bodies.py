"""The body of a request: images and fields, from a form or from JSON, never more than allowed."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import ClientDisconnect, Request

from foro.serve.http.admission import Held
from foro.serve.http.multipart import FormReader, malformed
from foro.serve.http.problems import Problem

MEGABYTE = 2**20
LONGEST_FIELD = 4096
LONGEST_READING = 60
"""Seconds that a client has to send its images."""


@dataclass
class Body:
    """Encoded images, and the other fields; an image that is None was not valid base64."""

    images: list[bytes | None] = field(default_factory=list)
    label: object = None
    top: object = None


async def read_body(request: Request, most_megabytes: float, held: Held) -> bytes:
    """The raw body; refused as soon as it is known to be too long."""
    check_length(request, most_megabytes)
    try:
        return await asyncio.wait_for(_read(request, most_megabytes, held), LONGEST_READING)
    except asyncio.TimeoutError:
        raise Problem(408, "too-slow", f"the body did not come within {LONGEST_READING} seconds") from None
    except ClientDisconnect:
        raise malformed("the connection was closed") from None


async def _read(request: Request, most_megabytes: float, held: Held) -> bytes:
    parts, total = [], 0
    async for part in request.stream():
        total += len(part)
        if total > most_megabytes * MEGABYTE:
            raise too_long(most_megabytes)
        held.grow(len(part))
        parts.append(part)
    return b"".join(parts)


def check_length(request: Request, most_megabytes: float) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdecimal() and int(announced[:20]) > most_megabytes * MEGABYTE:
        raise too_long(most_megabytes)


def too_long(most_megabytes: float) -> Problem:
    return Problem(413, "too-large", f"a request may have {most_megabytes:g} MB at most", {"Connection": "close"})


def parse(content_type: str, raw: bytes) -> Body:
    """A form with files in ``images``, or JSON with base64 in ``images``."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return _from_form(content_type, raw)
    if kind == "application/json":
        return _from_json(raw)
    raise Problem(415, "unsupported-body", "send images as multipart/form-data, or as base64 in application/json")


def _from_form(content_type: str, raw: bytes) -> Body:
    images: list[bytearray] = []
    fields: dict[str, bytearray] = {}

    def open(name: str) -> Any:
        content = bytearray()
        if name == "images":
            images.append(content)
        elif name in ("label", "top"):
            if name in fields:
                raise malformed(f"it has the field {name} twice")
            fields[name] = content
        else:
            return lambda _piece: None
        return content.extend

    reader = FormReader(content_type, open)
    reader.feed(raw)
    reader.finish()
    body = Body([bytes(image) for image in images])
    try:
        if "label" in fields:
            body.label = fields["label"].decode()
        if "top" in fields:
            body.top = int(fields["top"][:LONGEST_FIELD])
    except ValueError:
        raise malformed("label must be UTF-8, and top a whole number") from None
    return body


def _from_json(raw: bytes) -> Body:
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
