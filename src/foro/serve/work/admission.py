"""How much may be in work at once: what does not fit is turned away at the door, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from foro.serve.problems import too_busy

MEGABYTE = 2**20

MOST_UPLOADS = 4
"""Models that may be on their way to the disk at once."""


class Admission:
    """Counts bytes and images in work; for the event loop's thread only."""

    def __init__(self, most_bytes: int, most_images: int) -> None:
        self._most_bytes = most_bytes
        self._most_images = most_images
        self.bytes = 0
        self.images = 0
        self.uploads = 0

    @contextmanager
    def hold_upload(self) -> Iterator[None]:
        if self.uploads >= MOST_UPLOADS:
            raise too_busy("too many models are being uploaded: try again later", 10)
        self.uploads += 1
        try:
            yield
        finally:
            self.uploads -= 1

    @contextmanager
    def hold_images(self, count: int) -> Iterator[None]:
        if self.images and self.images + count > self._most_images:
            raise too_busy("too many images are waiting: try again in a moment")
        self.images += count
        try:
            yield
        finally:
            self.images -= count

    @contextmanager
    def hold_bytes(self) -> Iterator[Held]:
        held = Held(self)
        try:
            yield held
        finally:
            self.bytes -= held.bytes


class Held:
    """The bytes of one request, which grow as it is read."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self.bytes = 0

    def grow(self, count: int) -> None:
        others = self._admission.bytes - self.bytes
        if others and self._admission.bytes + count > self._admission._most_bytes:
            raise too_busy("too many requests are in work: try again in a moment")
        self.bytes += count
        self._admission.bytes += count
