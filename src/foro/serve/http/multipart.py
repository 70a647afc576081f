"""Forms with files, read part by part; no name that a client gives a file is ever used.

Not by Starlette's form parser: that accepts a form that ends too early, takes an image without a file name for text,
and writes files of more than a megabyte to the temporary folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from foro.serve.problems import Problem

Open = Callable[[str], Callable[[bytes], Any]]
"""Given the name of a field, returns what takes its content, piece by piece."""

MOST_PARTS = 1024


class FormReader:
    """Feeds the content of every field to what ``open`` returned for its name."""

    def __init__(self, content_type: str, open: Open) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise malformed("the form has no boundary")
        self._open = open
        self._parts = 0
        self._ended = False
        self._header = self._value = b""
        self._disposition = b""
        self._write: Callable[[bytes], Any] = lambda _piece: None
        try:
            self._parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._on_header,
                    "on_header_value": self._on_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._start,
                    "on_part_data": lambda data, start, end: self._write(data[start:end]),
                    "on_end": self._end,
                },
            )
        except FormParserError:
            raise malformed("its boundary is not valid") from None

    def feed(self, data: bytes) -> None:
        try:
            self._parser.write(data)
        except FormParserError:
            raise malformed("it is not multipart/form-data as its header says") from None

    def finish(self) -> None:
        """Checks that the form has come to its end: the parser itself does not mind if half of a file is missing."""
        if not self._ended:
            raise malformed("it ends too early")

    def _begin(self) -> None:
        self._parts += 1
        self._disposition = b""
        if self._parts > MOST_PARTS:
            raise malformed(f"it has more than {MOST_PARTS} parts")

    def _end(self) -> None:
        self._ended = True

    def _on_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _start(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._write = self._open(options.get(b"name", b"").decode("utf-8", "replace"))


def malformed(why: str) -> Problem:
    return Problem(400, "malformed-body", f"the body of the request cannot be read: {why}")
