"""Shards: a few hundred images each, which Ray Data reads and decodes wherever the cluster has processors to spare.

Ray Data reads and decodes ahead within bounded memory, but it must not count: it restarts actors and recomputes blocks
at any time, and statistics kept there could count an image twice. So each decoded shard is passed by reference to one
of our workers, see ``counting``.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.cluster.connection import connect, failure
from foro.errors import InputError
from foro.features.extractor import BATCH
from foro.images.digests import Digests, as_digests, crop_digest
from foro.images.load import Images, ImageSource, load_crop
from foro.images.preprocessing import Preprocessing
from foro.images.unreadable import UnreadableImage, find_unreadable, image_name
from foro.util.progress import progress_bar, quiet

SHARD = 256
"""Most images of a shard. Always whole batches: the backbone sees the same batches as in a single process."""

WINDOW = 1024
"""Shards that Ray Data gets at once: their paths are copied, and this bounds the copies."""


@dataclass(frozen=True)
class Shards:
    """Images with the numbers of their classes, cut into shards of ``size``; the last one may be smaller."""

    images: Images
    numbers: Sequence[int]
    size: int

    def __len__(self) -> int:
        return -(-len(self.images) // self.size)

    def part(self, shard: int) -> range:
        """Positions of a shard's images."""
        return range(shard * self.size, min((shard + 1) * self.size, len(self.images)))

    def pack(self, shard: int) -> bytes:
        """Everything that is needed to read a shard elsewhere."""
        part = self.part(shard)
        images, numbers = [self.images[position] for position in part], [self.numbers[position] for position in part]
        return pickle.dumps((os.getcwd(), images, numbers))


@dataclass(frozen=True)
class Decoded:
    """A shard that was read: crops (n, S, S, 3) and class numbers (n,), or what is wrong with its first bad image."""

    shard: int
    crops: NDArray[np.uint8]
    numbers: NDArray[np.int64]
    bad: str | None


def shard_size(images: int, workers: int) -> int:
    """Whole batches, and several shards for every worker, so that all finish at about the same time."""
    batches = -(-images // (4 * workers * BATCH))
    return int(np.clip(batches * BATCH, BATCH, SHARD))


def decoded(shards: Shards, wanted: Iterable[int], preprocessing: Preprocessing) -> Iterator[Any]:
    """References to the blocks of the wanted shards, in any order; ``unpack`` reads a block."""
    return _mapped(shards, wanted, partial(_decode, preprocessing=preprocessing))


def bad_images(shards: Shards) -> list[UnreadableImage]:
    """Every image that cannot be decoded, in order."""
    ray = connect()
    found = []
    with progress_bar("checking", len(shards.images)) as advance:
        for block in _mapped(shards, range(len(shards)), _check):
            (row,) = ray.get(block).to_pylist()
            for place, reason in zip(row["places"], row["reasons"], strict=True):
                position = row["shard"] * shards.size + place
                found.append(UnreadableImage(position, reason, image_name(shards.images[position], position)))
            advance(len(shards.part(row["shard"])))
    return sorted(found, key=lambda bad: bad.position)


def image_digests(shards: Shards, preprocessing: Preprocessing) -> Digests:
    """The digest of every image, in order; the first that cannot be decoded is an error."""
    ray = connect()
    found: dict[int, bytes] = {}
    bad: dict[int, str] = {}
    with progress_bar("comparing", len(shards.images)) as advance:
        for block in _mapped(shards, range(len(shards)), partial(_digest, preprocessing=preprocessing)):
            (row,) = ray.get(block).to_pylist()
            if row["bad"] is not None:
                bad[row["shard"]] = row["bad"]
            found[row["shard"]] = row["digests"]
            advance(len(shards.part(row["shard"])))
    if bad:
        raise InputError(bad[min(bad)])
    return as_digests(found[shard] for shard in range(len(shards)))


def unpack(block: Any) -> Decoded:
    """What a block of ``decoded`` holds; the crops stay where they are, in memory that all processes share."""
    row = {name: block.column(name)[0] for name in block.column_names}
    side, numbers = row["side"].as_py(), np.array(row["numbers"].as_py(), dtype=np.int64)
    crops = np.frombuffer(row["crops"].as_buffer(), dtype=np.uint8).reshape(-1, side, side, 3)
    return Decoded(row["shard"].as_py(), crops, numbers, row["bad"].as_py())


def _mapped(shards: Shards, wanted: Iterable[int], function: Any) -> Iterator[Any]:
    """References to what a function of a block makes of the wanted shards, one block each, in any order."""
    import pyarrow

    ray = connect()
    ahead = list(wanted)
    for start in range(0, len(ahead), WINDOW):
        # One row a block, so that no block is ever cut in two.
        blocks = [
            pyarrow.table({"shard": [shard], "content": [shards.pack(shard)]})
            for shard in ahead[start : start + WINDOW]
        ]
        with quiet("ray.data"):
            data = ray.data.from_blocks(blocks).map_batches(function, batch_size=None, batch_format="pyarrow")
            data.context.enable_progress_bars = False
            try:
                for bundle in data.iter_internal_ref_bundles():
                    yield from bundle.block_refs
            except ray.exceptions.RayError as error:
                raise failure(error, "reading images") from error


def _decode(block: Any, preprocessing: Preprocessing) -> Any:
    """What Ray Data does with a shard: the crops of its images one after another, as one value."""
    import pyarrow

    shard, folder, images, numbers = _content(block)
    side, bad = preprocessing.image_size, None
    crops = np.empty((len(images), side, side, 3), np.uint8)
    with _working_in(folder):
        try:
            for place, image in enumerate(images):
                crops[place] = load_crop(image, preprocessing)
        except InputError as error:
            crops, bad = crops[:0], str(error)
    offsets = pyarrow.py_buffer(np.array([0, crops.nbytes], dtype=np.int64))
    pixels = pyarrow.Array.from_buffers(pyarrow.large_binary(), 1, [None, offsets, pyarrow.py_buffer(crops)])
    return pyarrow.table(
        {
            "shard": [shard],
            "side": [side],
            "crops": pixels,
            "numbers": [numbers],
            "bad": pyarrow.array([bad], pyarrow.string()),
        }
    )


def _digest(block: Any, preprocessing: Preprocessing) -> Any:
    """What Ray Data does with a shard whose images are only compared: their digests one after another."""
    import pyarrow

    shard, folder, images, _ = _content(block)
    digests, bad = b"", None
    with _working_in(folder):
        try:
            digests = b"".join(crop_digest(load_crop(image, preprocessing)) for image in images)
        except InputError as error:
            bad = str(error)
    return pyarrow.table({"shard": [shard], "digests": [digests], "bad": pyarrow.array([bad], pyarrow.string())})


def _check(block: Any) -> Any:
    """What Ray Data does with a shard whose images are only checked: where the bad ones are, and why."""
    import pyarrow

    shard, folder, images, _ = _content(block)
    with _working_in(folder):
        bad = find_unreadable(images)
    places, reasons = [each.position for each in bad], [each.reason for each in bad]
    return pyarrow.table(
        {
            "shard": [shard],
            "places": pyarrow.array([places], pyarrow.list_(pyarrow.int64())),
            "reasons": pyarrow.array([reasons], pyarrow.list_(pyarrow.string())),
        }
    )


def _content(block: Any) -> tuple[int, str, list[ImageSource], list[int]]:
    (row,) = block.to_pylist()
    return row["shard"], *pickle.loads(row["content"])


@contextmanager
def _working_in(folder: str) -> Iterator[None]:
    """Works in another folder, in which relative paths mean what they meant to the caller."""
    before = os.getcwd()
    with suppress(OSError):  # another machine may not have it
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
