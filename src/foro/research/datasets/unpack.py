"""Unpacks a tar archive that is not trusted: all of it under one folder, or nothing."""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from foro.errors import DataError
from foro.util.progress import byte_progress

MOST_BYTES = 8 * 2**30
MOST_FILES = 100_000

_FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.10.12


def unpack(archive: Path, target: Path, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
    """Makes the archive's folder ``target.name`` appear as ``target`` when all of it is unpacked.

    ``target`` must be locked by the caller. Links, devices, names that lead out of the folder and archives beyond the
    limits are refused.
    """
    temporary = target.with_name(f".{target.name}.unpacking")
    try:
        shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
        temporary.mkdir(parents=True)
        _extract(archive, temporary, most_bytes, most_files)
        if not (temporary / target.name).is_dir():
            raise DataError(f"{archive} has no folder {target.name}")
        os.replace(temporary / target.name, target)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DataError(f"{archive} is damaged and should be deleted: {error}") from None
    except OSError as error:
        # gzip reports damage as an OSError without a number.
        doing = "is damaged and should be deleted" if error.errno is None else f"cannot be unpacked into {target}"
        raise DataError(f"{archive} {doing}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _extract(archive: Path, folder: Path, most_bytes: int, most_files: int) -> None:
    size = files = 0
    with (
        archive.open("rb") as raw,
        byte_progress(f"unpacking {archive.name}", archive.stat().st_size) as reached,
        tarfile.open(fileobj=raw) as tar,
    ):
        for member in tar:
            _check(archive, member)
            files += 1
            size += member.size
            if files > most_files or size > most_bytes:
                raise DataError(f"{archive} unpacks to more than {most_files:,} files or {most_bytes:,} bytes")
            tar.extract(member, folder, set_attrs=False, **_FILTER)
            reached(raw.tell())


def _check(archive: Path, member: tarfile.TarInfo) -> None:
    if not (member.isreg() or member.isdir()):
        raise DataError(f"{archive} contains {member.name!r}, which is neither a file nor a folder")
    path = PurePosixPath(member.name)
    # A backslash and a colon are parts of a name here, but a path and a drive on Windows.
    if path.is_absolute() or ".." in path.parts or "\\" in member.name or ":" in member.name or "\0" in member.name:
        raise DataError(f"{archive} contains {member.name!r}, which could lead out of its folder")
