"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from glob import escape
from pathlib import Path

from foro.errors import FoRoError, InputError, ModelFileError


def write_whole(path: Path, pieces: Iterable[bytes | memoryview], error: type[FoRoError] = ModelFileError) -> None:
    """Writes a file that is there whole or not at all: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as reason:
        raise error(f"{path} cannot be written: {reason.strerror or reason}") from None
    finally:
        with suppress(OSError):  # a place that cannot be written to cannot be tidied up, either
            temporary.unlink(missing_ok=True)


def write_asked(path: Path, data: bytes, what: str) -> None:
    """Writes a report or a picture for the user, whole or not at all; to a pipe or a device as it comes."""
    if path.is_file() or not path.exists():
        try:
            write_whole(path, [data], InputError)
        except InputError as error:
            raise InputError(f"{what} {error}") from None
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"{what} {path} cannot be written: {error.strerror}") from None


def remove_leftovers(path: Path) -> None:
    """Removes temporary files of the file at path whose writers are no more."""
    for leftover in path.parent.glob(f".{escape(path.name)}.*.part"):
        writer = leftover.name.split(".")[-3]
        if not (writer.isdigit() and _runs(int(writer))):
            with suppress(OSError):
                if leftover.is_dir():
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink()


def _runs(process: int) -> bool:
    """Whether another process of this number is running; True where that cannot be told."""
    if process == os.getpid():
        return False
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sync_folder(folder: Path) -> None:
    """Makes sure that the names in a folder are on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
