"""The feature cache: what the backbone makes of each image is computed once, whatever is then learned from it.

A shelf holds the features of one set of samples under one backbone, preprocessing and prompt. It fills as tasks ask for
more of them, in chunk files that are written atomically and never changed: processes share a cache without a lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.errors import FoRoError
from foro.features.candidate import Candidate
from foro.images.samples import Samples
from foro.types import Float32
from foro.util.system import cache_dir
from foro.util.tensors import read_tensors, write_tensors

Positions = NDArray[np.intp]

MOST_BYTES = 4 * 2**30
"""Size that a cache does not outgrow: beyond it, the shelf that was not used for longest is thrown away."""


class FeatureCache:
    """Shelves in a folder; ``served`` counts the forward passes that were saved, ``features`` in the user's cache."""

    def __init__(self, folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder or cache_dir() / "features"
        self.most_bytes = most_bytes
        self.served = 0
        self._shelves: dict[str, Shelf] = {}

    def shelf(self, backbone: Backbone, samples: Samples, candidate: Candidate) -> Shelf:
        """Where what is read of these samples is kept, with one candidate."""
        about = {
            "backbone": backbone.fingerprint,
            "engine": type(
                backbone
            ).__name__,  # engines agree to rounding, and results must not depend on who was first
            "preprocessing": backbone.preprocessing.to_dict(),
            "samples": samples.fingerprint,
            "candidate": candidate.digest,
            "outputs": backbone.outputs,
        }
        text = json.dumps(about, sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()[:32]
        if key not in self._shelves:
            self._shelves[key] = Shelf(self.folder / key, len(samples))
        with suppress(OSError):
            os.utime(self.folder / key)
        return self._shelves[key]

    def shrink(self, kept: Shelf) -> None:
        """Throws away the shelves that were not used for longest, but not this one, until the bound is kept."""
        sizes = {folder: _bytes(folder) for folder in self.folder.iterdir() if folder.is_dir()}
        for folder in sorted(sizes, key=_last_used):
            if sum(sizes.values()) <= self.most_bytes:
                return
            if folder != kept.folder:
                shutil.rmtree(folder, ignore_errors=True)  # a reader's mapped files live on until it is done
                self._shelves.pop(folder.name, None)
                del sizes[folder]


class Shelf:
    """Features (n, layers, dim) of n samples, as far as they are known."""

    def __init__(self, folder: Path, samples: int) -> None:
        self.folder = folder
        self._chunks: list[Float32] = []
        self._chunk: Positions = np.full(samples, -1)  # which chunk has the sample, and in which row
        self._row: Positions = np.zeros(samples, dtype=np.intp)
        for path in sorted(folder.glob("*.safetensors")):
            with suppress(FoRoError, KeyError):  # a damaged or vanished chunk is as good as none
                arrays, _ = read_tensors(path)
                self._index(arrays["positions"], arrays["features"])

    def known(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of the samples at these positions are here."""
        known: NDArray[np.bool_] = self._chunk[positions] >= 0
        return known

    def take(self, positions: Positions) -> Float32:
        """Features (b, layers, dim) of the samples at these positions, all of them known."""
        return np.stack([self._chunks[self._chunk[position]][self._row[position]] for position in positions])

    def put(self, positions: Positions, features: Float32) -> None:
        """Adds the features of the samples at these positions."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{secrets.token_hex(8)}.safetensors"
        write_tensors(path, {"positions": positions.astype(np.int64), "features": features}, {})
        arrays, _ = read_tensors(path)  # from here on a view of the file, not memory
        self._index(arrays["positions"], arrays["features"])

    def _index(self, positions: NDArray[np.int64], features: Float32) -> None:
        self._chunk[positions] = len(self._chunks)
        self._row[positions] = np.arange(len(positions))
        self._chunks.append(features)


def _bytes(folder: Path) -> int:
    total = 0
    with suppress(OSError):  # another process may have thrown it away
        for path in folder.iterdir():
            total += path.stat().st_size
    return total


def _last_used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
