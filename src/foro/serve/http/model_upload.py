"""A model file in a form, which may be too large for the memory: written to a file as it comes."""

from __future__ import annotations

from typing import IO, Any

from starlette.requests import ClientDisconnect, Request

from foro.serve.http.bodies import MEGABYTE, check_length, too_long
from foro.serve.http.multipart import FormReader, malformed
from foro.serve.http.problems import Problem


async def receive_model(request: Request, file: IO[bytes], most_megabytes: float) -> None:
    """Writes the field ``model`` of a form to a file."""
    check_length(request, most_megabytes)
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Problem(415, "unsupported-body", "send the model as multipart/form-data, in the field model")
    found = total = 0

    def open_field(name: str) -> Any:
        nonlocal found
        if name != "model":
            return lambda _piece: None
        found += 1
        if found > 1:
            raise malformed("it has more than one model")
        return file.write

    reader = FormReader(request.headers["content-type"], open_field)
    try:
        async for piece in request.stream():
            total += len(piece)
            if total > most_megabytes * MEGABYTE:
                raise too_long(most_megabytes)
            reader.feed(piece)
        reader.finish()
        file.flush()
    except ClientDisconnect:
        raise malformed("the connection was closed") from None
    except OSError:
        raise Problem(507, "cannot-write", "there is no room for the uploaded model") from None
    if not found:
        raise Problem(422, "no-model", "there is no model: send a file in the field model")
