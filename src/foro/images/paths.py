"""Which images a user means: files, folders, patterns and lists of paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path

from foro.errors import InputError
from foro.images.class_folders import EXTENSIONS, images_under


def find_images(places: Iterable[str]) -> list[Path]:
    """Images at the places, in their order: a file as it is, a folder with every image below it, a pattern's matches.

    A pattern such as ``photos/**/*.jpg`` is for shells that do not expand it, and for more files than fit into a
    command. A file that does not exist is kept: whoever reads it says so.
    """
    found: list[Path] = []
    for place in places:
        path = Path(place)
        if path.is_dir():
            here = images_under(path)
            if not here:
                raise InputError(f"{place} has no images")
        elif not path.exists() and has_magic(place):
            here = [Path(each) for each in sorted(glob(place, recursive=True)) if _is_image(Path(each))]
            if not here:
                raise InputError(f"no image matches {place}")
        else:
            here = [path]
        found += here
    return found


def paths_in(lines: Iterable[str]) -> Iterator[Path]:
    """One path a line; empty lines are passed over."""
    for line in lines:
        if name := line.rstrip("\r\n"):
            yield Path(name)


def _is_image(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in EXTENSIONS
