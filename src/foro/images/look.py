"""One look at each image of a lesson: what a backbone sees of it is kept, and what cannot be read is named.

Decoding a photograph takes longer than anything else that is done with it once. So an image is decoded when it is first
looked at; for a search, for its features or to be measured on, it is then taken from what was kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from foro.errors import InputError
from foro.images.digests import Digests, as_digests, crop_digest
from foro.images.load import Crop, Images, ImageSource, load_crop
from foro.images.preprocessing import Preprocessing
from foro.images.unreadable import UnreadableImage, image_name
from foro.util.parallel import ordered_map
from foro.util.progress import progress_bar
from foro.util.system import cache_dir

IN_MEMORY = 32 * 2**20
"""Bytes of crops that are kept in memory; more are kept in a file."""

IN_FILE = 2 * 2**30
"""Bytes of that file; images for which there is no room are decoded when they are used."""

_AHEAD = 64


class Crops(Sequence[ImageSource]):
    """Images as crops, as far as there is room for them, and then as they were given."""

    def __init__(self, store: _Store, places: Sequence[int]) -> None:
        self._store, self._places = store, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> ImageSource:  # type: ignore[override]  # a part of them is ``take``
        return self._store.get(self._places[index])

    @property
    def digests(self) -> Digests:
        """Digests (n, 16) of the crops."""
        return as_digests(self._store.digests[place] for place in self._places)

    def name(self, position: int) -> str:
        """What an image is called: its path, or where it was."""
        place = self._places[position]
        return image_name(self._store.images[place], place)

    def take(self, positions: Iterable[int]) -> Crops:
        """Those at some positions, in that order."""
        return Crops(self._store, [self._places[position] for position in positions])


def look(images: Images, preprocessing: Preprocessing, strict: bool = True) -> tuple[Crops, list[UnreadableImage]]:
    """The images that can be read, and those that cannot; with ``strict`` the first of these is an error."""
    if isinstance(images, Crops):
        return images, []
    store = _Store(images, preprocessing.image_size)
    bad: list[UnreadableImage] = []
    read = partial(_read, preprocessing, strict)
    with progress_bar("reading", len(images)) as advance, closing(ordered_map(read, images, _AHEAD)) as crops:
        for position, crop in enumerate(crops):
            if isinstance(crop, str):
                bad.append(UnreadableImage(position, crop, image_name(images[position], position)))
            else:
                store.put(position, *crop)
            advance(1)
    unreadable = {each.position for each in bad}
    return Crops(store, [position for position in range(len(images)) if position not in unreadable]), bad


def name_of(images: Images, position: int) -> str:
    """What one of many images is called, also of those that were looked at."""
    return images.name(position) if isinstance(images, Crops) else image_name(images[position], position)


def _read(preprocessing: Preprocessing, strict: bool, image: ImageSource) -> tuple[Crop, bytes] | str:
    try:
        crop = load_crop(image, preprocessing)
        return crop, crop_digest(crop)
    except InputError as error:
        if strict:
            raise
        return str(error)


class _Store:
    """Crops by the position of their image, in memory first and then in a file that has no name."""

    def __init__(self, images: Images, side: int) -> None:
        self.images, self._shape = images, (side, side, 3)
        self.digests: dict[int, bytes] = {}
        self._bytes = 3 * side**2
        self._memory: dict[int, Crop] = {}
        self._filed: dict[int, int] = {}  # position → number in the file
        self._file: IO[bytes] | None = None
        self._room = IN_FILE // self._bytes
        self._lock = threading.Lock()

    def put(self, position: int, crop: Crop, digest: bytes) -> None:
        self.digests[position] = digest
        if (len(self._memory) + 1) * self._bytes <= IN_MEMORY:
            self._memory[position] = crop
        elif len(self._filed) < self._room:
            try:
                if self._file is None:
                    folder = cache_dir()
                    folder.mkdir(parents=True, exist_ok=True)
                    self._file = TemporaryFile(dir=folder)  # noqa: SIM115  # it lasts as long as the crops
                self._file.seek(len(self._filed) * self._bytes)
                self._file.write(crop.tobytes())
                self._file.flush()
                self._filed[position] = len(self._filed)
            except OSError:  # the disk is full, or nothing can be written there
                self._room = 0

    def get(self, position: int) -> ImageSource:
        if (crop := self._memory.get(position)) is not None:
            return crop
        if (number := self._filed.get(position)) is None:
            image: ImageSource = self.images[position]
            return image
        with self._lock:
            assert self._file is not None
            self._file.seek(number * self._bytes)
            content = self._file.read(self._bytes)
        return np.frombuffer(content, np.uint8).reshape(self._shape).view(Crop)
