"""Images that something is wrong with, or that are merely unusual, as files: for every test that reads images."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image


def photo(size: tuple[int, int] = (48, 40), seed: int = 0) -> Image.Image:
    """A small image with something in it."""
    generator = np.random.default_rng(seed)
    coarse = Image.fromarray(generator.integers(0, 255, (6, 6, 3), dtype=np.uint8))
    return coarse.resize(size, Image.Resampling.BICUBIC)


def _encoded(image: Image.Image, form: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)  # type: ignore[arg-type]
    return file.getvalue()


@cache
def _bomb(side: int = 30_000) -> bytes:
    """A PNG of 900 million pixels in half a megabyte."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer, row = zlib.compressobj(1), bytes(1 + side // 8)
    pixels = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _exif() -> bytes:
    turned = photo()
    exif = turned.getexif()
    exif[0x0112] = 6
    return _encoded(turned, "JPEG", exif=exif)


def _animated() -> bytes:
    frames = [photo(seed=seed) for seed in range(3)]
    return _encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])


def _sixteen_bits() -> bytes:
    grey = np.asarray(photo().convert("L"), dtype=np.uint16) * 257
    return _encoded(Image.fromarray(grey), "PNG")


UNUSUAL: dict[str, Callable[[], bytes]] = {
    "cmyk.jpg": lambda: _encoded(photo().convert("CMYK"), "JPEG"),
    "sixteen-bit.png": _sixteen_bits,
    "animated.gif": _animated,
    "turned.jpg": _exif,
    "one-pixel.png": lambda: _encoded(photo((1, 1)), "PNG"),
    "grey-alpha.png": lambda: _encoded(photo().convert("LA"), "PNG"),
    "palette.png": lambda: _encoded(photo().convert("P"), "PNG"),
    "Ünïcode ☂ name.webp": lambda: _encoded(photo(), "WEBP"),
}
"""Files that are read as images like any other."""

BAD: dict[str, Callable[[], bytes]] = {
    "corrupt.jpg": lambda: _encoded(photo((200, 160)), "JPEG")[:900],
    "damaged.png": lambda: _encoded(photo((200, 160)), "PNG").replace(b"IDAT", b"IDxT"),
    "empty.jpg": lambda: b"",
    "text.jpg": lambda: b"I am a text that someone has called an image.\n",
    "bomb.png": _bomb,
    "narrow.png": lambda: _encoded(Image.new("L", (20_000, 1)), "PNG"),
}
"""Files that cannot be used: they are named, and nothing else happens."""


def write_images(folder: Path, kinds: dict[str, Callable[[], bytes]]) -> list[Path]:
    """Writes files of such kinds into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in kinds]
    for path in paths:
        path.write_bytes(kinds[path.name]())
    return paths
