"""An encoded image from any client, as the small upright RGB image that the backbone will see."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image

from foro.errors import InputError
from foro.images.load import NARROWEST, resized
from foro.images.preprocessing import Preprocessing
from foro.serve.problems import Problem

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
"""Pillow knows more; some of them start other programs."""


class Decoder:
    """Decodes; safe to be called by several threads."""

    def __init__(self, preprocessing: Preprocessing, most_megapixels: float, most_in_all: float) -> None:
        self._preprocessing = preprocessing
        self._most_megapixels = most_megapixels
        self._most_in_all = most_in_all

    def check(self, images: Sequence[bytes | None]) -> None:
        """Refuses images that would take too long together; a few bytes can claim to be a large image."""
        pixels = sum(map(_pixels, images))
        if len(images) > 1 and pixels > 1e6 * self._most_in_all:
            raise Problem(
                413,
                "too-many-pixels",
                f"these images have {pixels / 1e6:.0f} megapixels, more than the {self._most_in_all:g} of a request",
            )

    def __call__(self, data: bytes | None) -> Image.Image | Problem:
        """The image, at the size to which preprocessing would resize it; or what is wrong with it."""
        if data is None:
            return Problem(422, "unreadable-image", "this is not base64")
        if not data:
            return Problem(422, "unreadable-image", "this image is empty: it has no bytes")
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                width, height = image.size
                if width * height > 1e6 * self._most_megapixels:
                    return Problem(
                        413,
                        "too-many-pixels",
                        f"this image has {width} × {height} pixels, more than {self._most_megapixels:g} million",
                    )
                if max(width, height) > NARROWEST * min(width, height):
                    return Problem(422, "too-narrow-image", f"an image of {width} × {height} pixels is too narrow")
                # Small images wait for their turn in less memory; to resize twice changes nothing.
                return resized(image, self._preprocessing).convert("RGB")
        except (Exception, MemoryError) as error:  # Pillow raises anything from SyntaxError to struct.error
            if isinstance(error, Image.DecompressionBombError):
                return Problem(413, "too-many-pixels", "this image has far too many pixels")
            detail = str(error) if isinstance(error, InputError) else "this is not a readable image"
            return Problem(422, "unreadable-image", f"{detail}; JPEG, PNG, WebP, GIF, BMP, TIFF and AVIF are")


def _pixels(data: bytes | None) -> int:
    """How many pixels an image says that it has; 0 if that cannot be read."""
    try:
        with Image.open(io.BytesIO(data or b""), formats=FORMATS) as image:
            return int(image.width * image.height)
    except Exception:  # decoding will say what is wrong
        return 0
