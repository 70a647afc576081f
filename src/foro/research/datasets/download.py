"""Downloads a file into a folder: resumed after an interruption, verified, and visible only when complete."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foro import __version__
from foro.errors import DataError
from foro.util.progress import byte_progress

_CHUNK = 2**20
_TIMEOUT = 30.0
"""Seconds without a single byte after which a connection counts as broken."""

_ATTEMPTS = 10
"""Connections that one call makes at most; each must have brought something for the next to be tried."""


@dataclass(frozen=True)
class RemoteFile:
    """An address, and what its owner says is there: the size in bytes and the MD5."""

    url: str
    size: int
    md5: str

    @property
    def file_name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


def download(remote: RemoteFile, folder: Path) -> Path:
    """Path of the complete, verified file in ``folder``, which must be locked by the caller.

    Until then its name ends in ``.part``; after an interruption that file stays, and the next call continues it.
    """
    target = folder / remote.file_name
    if target.exists():
        return target
    part = _Part(target.with_name(f"{target.name}.part"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        missing = remote.size - part.size
        if missing > (free := shutil.disk_usage(folder).free):
            raise DataError(f"{target} needs {missing:,} bytes, but its disk has only {free:,} left")
        with byte_progress(f"downloading {target.name}", remote.size) as reached:
            _complete(remote, part, reached)
        if _md5(part.path) != remote.md5:
            part.remove()
            raise DataError(f"what {remote.url} sent has the wrong checksum and was deleted; try again later")
        part.become(target)
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}") from None
    return target


class _Part:
    """The file while it is incomplete, and the ETag of what it is a part of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tag = path.with_name(f"{path.name}.etag")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def tag(self) -> str | None:
        return self._tag.read_text(encoding="latin-1") if self._tag.exists() else None

    def start(self, tag: str | None) -> None:
        """Empties the file; ``tag`` says what will be written to it."""
        self.remove()
        if tag and not tag.startswith("W/"):  # a weak tag does not promise the same bytes
            self._tag.write_text(tag, encoding="latin-1")

    def append(self, response: http.client.HTTPResponse, most: int, reached: Callable[[int], None]) -> None:
        """Writes a response until it ends or breaks off; one that grows the file beyond ``most`` is cut soon after."""
        with self.path.open("ab") as file:
            reached(file.tell())
            while file.tell() <= most:
                try:
                    chunk = response.read1(_CHUNK)  # what has arrived: less is lost when the rest never comes
                except (OSError, http.client.HTTPException):
                    return
                if not chunk:
                    return
                file.write(chunk)
                reached(file.tell())

    def become(self, target: Path) -> None:
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self.path, target)
        self._tag.unlink(missing_ok=True)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)


def _complete(remote: RemoteFile, part: _Part, reached: Callable[[int], None]) -> None:
    """Brings the part to its full size, over as many connections as it takes."""
    for _ in range(_ATTEMPTS):
        before = part.size
        if before >= remote.size:
            break
        with _request(remote, before, part.tag) as response:
            if not _goes_on(response, before, remote.size):
                _check_length(response, remote)
                part.start(response.headers.get("ETag"))
                before = 0
            part.append(response, remote.size, reached)
        if part.size == before:
            break
    if part.size > remote.size:
        part.remove()
        raise DataError(f"{remote.url} sent more than the {remote.size:,} bytes that belong there")
    if part.size < remote.size:
        raise DataError(
            f"{remote.url} broke off after {part.size:,} of {remote.size:,} bytes; the same command resumes it"
        )


def _request(remote: RemoteFile, offset: int, tag: str | None) -> http.client.HTTPResponse:
    headers = {"User-Agent": f"foro/{__version__}"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if tag:
            headers["If-Range"] = tag  # if the file has changed, the answer is all of the new one
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(
            urllib.request.Request(remote.url, headers=headers), timeout=_TIMEOUT
        )
    except urllib.error.HTTPError as error:
        error.close()
        if offset and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return _request(remote, 0, None)
        raise DataError(f"{remote.url} answered {error.code} {error.reason}{_BY_HAND}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"{remote.url} cannot be reached: {getattr(reason, 'strerror', None) or reason}{_BY_HAND}"
        ) from None
    return response


_BY_HAND = "; the unpacked archive, got in another way, can be given as the data folder"


def _goes_on(response: http.client.HTTPResponse, offset: int, size: int) -> bool:
    """Whether the answer is the rest that was asked for, rather than the whole file."""
    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
        return False
    given = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if not given or int(given[1]) != offset or given[2] not in (str(size), "*"):
        raise DataError(f"{response.url} sent another part of the file than the one that was asked for")
    return True


def _check_length(response: http.client.HTTPResponse, remote: RemoteFile) -> None:
    length = response.headers.get("Content-Length")
    if length is not None and length != str(remote.size):
        raise DataError(f"{remote.url} has {length} bytes instead of {remote.size}: it is not what was published")


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
