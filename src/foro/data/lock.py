"""One process at a time: a lock that the operating system releases even if its holder is killed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foro.errors import DataError

_PAUSE = 0.1
"""Seconds between two attempts."""


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Holds the lock on a file, which is created if necessary and stays: removing it would let two holders in.

    Waits for another holder; or, with ``wait=False``, goes on at once. Yields whether the lock is held.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
    try:
        while not (held := _try(handle)) and wait:
            time.sleep(_PAUSE)
        yield held
    finally:
        os.close(handle)  # which releases the lock


if sys.platform == "win32":
    import msvcrt

    def _try(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
