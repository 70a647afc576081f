"""One process at a time: a lock that the operating system releases even if its holder is killed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from foro.errors import DataError

_PAUSE = 0.1
"""Seconds between two attempts."""


@contextmanager
def locked(path: Path, wait: bool = True, tidy: bool = False) -> Iterator[bool]:
    """Holds the lock on a file, which is created if necessary and stays, or with ``tidy`` is removed in the end.

    Waits for another holder; or, with ``wait=False``, goes on at once. Yields whether the lock is held.
    """
    handle = _open(path)
    try:
        while True:
            held = _try(handle)
            if held and not _is_at(handle, path):  # its last holder has removed it: another may hold the next one
                os.close(handle)
                handle = _open(path)
                continue
            if held or not wait:
                break
            time.sleep(_PAUSE)
        try:
            yield held
        finally:
            if held and tidy:
                with suppress(OSError):
                    path.unlink()
    finally:
        os.close(handle)  # which releases the lock


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


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
