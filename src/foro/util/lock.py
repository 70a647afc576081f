"""One process at a time: a lock that the operating system releases even if its holder is killed."""

from __future__ import annotations

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
    from filelock import FileLock, Timeout  # here, because most commands lock nothing

    # Another thread may release the lock than took it. A file system without locks is an error: a file that merely
    # marks the holder would outlive a holder that is killed.
    lock = FileLock(path, thread_local=False, fallback_to_soft=False, poll_interval=_PAUSE)
    while not lock.is_locked:
        try:
            lock.acquire(blocking=wait)
        except Timeout:
            break
        except FileNotFoundError:
            continue  # its last holder has removed the folder, which the next attempt creates
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror}") from None
    try:
        yield lock.is_locked
    finally:
        if tidy and lock.is_locked:
            with suppress(OSError):
                path.unlink()  # before the release: only a holder may remove it, and others then try a new one
        lock.release()
