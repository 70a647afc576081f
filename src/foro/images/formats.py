"""Which files are images, by their first bytes and not by their names; and how one is opened."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from foro.errors import InputError

EXTENSIONS = frozenset(
    {".avif", ".bmp", ".gif", ".heic", ".heif", ".hif", ".jfif", ".jpe", ".jpeg", ".jpg", ".pbm", ".pgm", ".png"}
    | {".pnm", ".ppm", ".tif", ".tiff", ".webp"}
)
"""How images are called: what has another name is looked into."""

_START = 64
_SIGNATURES = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n|GIF8[79]a|RIFF....WEBP|II\*\0|MM\0\*|P[1-6]\s[\s#]*\d"
    rb"|BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c]\0\0\0|....ftyp(avi[fs]|hei[cmsx]|hev[cmsx]|mif1|msf1)",
    re.DOTALL,
)
_HEIF = re.compile(rb"....ftyp(?!.*avi[fs])(hei|hev|mif1|msf1)", re.DOTALL)
_AVIF = re.compile(rb"....ftyp.*avi[fs]", re.DOTALL)


def is_image(path: Path) -> bool:
    """Whether a regular file is called like an image, or begins like one."""
    if path.suffix.lower() in EXTENSIONS:
        return True
    try:
        return bool(_SIGNATURES.match(_start(path)))
    except OSError:
        return False


def is_regular(path: Path) -> bool:
    """Whether a path, or what it links to, is a file with bytes; to open a pipe could last forever."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def open_image(path: Path) -> Image.Image:
    """An image that is not decoded yet; HEIC is read where ``pillow-heif`` is installed."""
    kind = os.stat(path).st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise InputError(f"{path} is not a regular file")
    try:
        return Image.open(path)
    except UnidentifiedImageError:
        start = _start(path)
        if _AVIF.match(start):
            raise InputError(f"{path} is AVIF, which this Pillow cannot read: pip install --upgrade pillow") from None
        if not _HEIF.match(start):
            raise
    try:
        from pillow_heif import register_heif_opener
    except ModuleNotFoundError:
        raise InputError(f'{path} is HEIC, which needs pillow-heif: pip install "foro[heif]"') from None
    register_heif_opener()
    return Image.open(path)


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(_START)
