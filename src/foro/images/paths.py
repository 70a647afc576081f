"""Which images a user means: files, folders, patterns and lists of paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path

from foro.errors import InputError
from foro.images.formats import is_image, is_regular


@dataclass
class Found:
    """Images, and the files beside them that are none."""

    images: list[Path] = field(default_factory=list)
    passed_over: list[Path] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Puts a file where it belongs; only regular files are images, for others may never end."""
        (self.images if is_regular(path) and is_image(path) else self.passed_over).append(path)


def find_images(places: Iterable[str]) -> Found:
    """Images at the places, in their order: a file as it is, a folder with every image below it, a pattern's matches.

    A pattern such as ``photos/**/*.jpg`` is for shells that do not expand it, and for more files than fit into a
    command. A file that does not exist, or is no image, is kept: reading it says so.
    """
    found = Found()
    for place in places:
        path, before = Path(place), len(found.images)
        if path.is_dir():
            search_folder(path, found)
            if len(found.images) == before:
                raise InputError(f"{place} has no images")
        elif not path.exists() and has_magic(place):
            for each in sorted(glob(place, recursive=True)):
                if not os.path.isdir(each):
                    found.add(Path(each))
            if len(found.images) == before:
                raise InputError(f"no image matches {place}")
        else:
            found.images.append(path)
    return found


def search_folder(folder: Path, found: Found) -> None:
    """Adds everything in a folder and the folders within, in sorted order; what is hidden does not count."""

    def closed(error: OSError) -> None:
        found.passed_over.append(Path(error.filename))

    for parent, folders, files in os.walk(folder, onerror=closed):
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        found.passed_over += [Path(parent, name) for name in sorted(linked)]  # they could lead back here
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        for name in sorted(files):
            if not is_hidden(name):
                found.add(Path(parent, name))


def is_hidden(name: str) -> bool:
    """Whether a file or folder is the system's, not the user's."""
    return name.startswith(".") or name == "__MACOSX"


def paths_in(lines: Iterable[str]) -> Iterator[Path]:
    """One path a line; empty lines are passed over."""
    for line in lines:
        if name := line.rstrip("\r\n"):
            yield Path(name)
