"""Large arrays that lie in a file without a name: memory holds the part of them that is being worked on.

By hand because ``np.memmap`` keeps in memory, as far as a process can be charged for it, whatever was ever looked at.
Zeros are written beforehand: a full disk is an error then, and a crash later. Where there is no room, or where memory
cannot be told to let go, arrays are in memory as any other.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.types import Float64

LARGE = 2**25
"""Bytes from which on an array lies in a file."""

PART = 2**20
"""Numbers of an array that are looked at before memory lets go of them."""

_BLANK = 2**21
"""Bytes that are written at once: Linux keeps them together, which is faster than a page after another."""

_CAN_LET_GO = hasattr(mmap, "MADV_DONTNEED")

_ON_DISK = Path("/var/tmp")
"""Where there is a disk, as a rule; what ``TMPDIR`` and ``/tmp`` name may be memory."""


class _Mapping(mmap.mmap):
    """A file whose pages memory may let go of at any time: nothing is lost."""


def zeros(count: int) -> Float64:
    """So many zeros (count,)."""
    size = 8 * count
    if size < LARGE or not _CAN_LET_GO:
        return np.zeros(count)
    try:
        with tempfile.TemporaryFile(dir=_ON_DISK if os.access(_ON_DISK, os.W_OK) else None) as file:
            for start in range(0, size, _BLANK):
                file.write(bytes(min(_BLANK, size - start)))
            file.flush()
            return np.frombuffer(_Mapping(file.fileno(), size))
    except OSError:  # no room there
        return np.zeros(count)


def parts(*arrays: NDArray[Any]) -> Iterator[Any]:
    """Contiguous arrays of one length, a flat part of each at a time, of which memory lets go afterwards."""
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, PART):
        yield tuple(array[start : start + PART] for array in flat)
        release(*arrays)


def release(*arrays: NDArray[Any]) -> None:
    """Has memory let go of contiguous arrays that are not worked on for now.

    They must lie in a file of ``zeros``, or be read-only and in a mapped file; all others stay where they are.
    """
    for array in arrays if _CAN_LET_GO else ():
        mapping = _mapping(array)
        if isinstance(mapping, _Mapping):
            mapping.madvise(mmap.MADV_DONTNEED)
        elif mapping is not None and not array.flags.writeable:  # others, beside it in the file, may have been changed
            start = array.ctypes.data - np.frombuffer(mapping, np.uint8).ctypes.data
            first, end = -(-start // mmap.PAGESIZE), (start + array.nbytes) // mmap.PAGESIZE
            if first < end:
                mapping.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, (end - first) * mmap.PAGESIZE)


def _mapping(array: Any) -> mmap.mmap | None:
    """What an array is a view of, if that is a mapped file."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return array if isinstance(array, mmap.mmap) else None
