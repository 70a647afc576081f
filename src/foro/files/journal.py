"""A journal: records that are only ever appended, of which a crash can cost no more than the last unfinished one.

The file is a marker line and a header, then groups: any number of parts and the commit that makes them count. Every
record is a marker, the length of its text and of its arrays, the CRC-32 of all that, the text (JSON) and the arrays'
bytes. A commit is on the disk when ``Group.commit`` returns; parts before it are written as they come, so that memory
does not grow with the group. Whatever follows the last commit that can be read is not there.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from foro.errors import ModelFileError
from foro.types import Arrays
from foro.util.atomic_files import sync_folder

FIRST_LINE = b"foro journal 1\n"
MARKER = b"\x00rec"
_LENGTHS = struct.Struct("<QQ")
_CRC = struct.Struct("<I")
_START = len(MARKER) + _LENGTHS.size + _CRC.size
LONGEST_TEXT = 1 << 30


@dataclass(frozen=True)
class Record:
    """Fields, JSON-ready, and arrays by name."""

    fields: dict[str, Any]
    arrays: Arrays


@dataclass(frozen=True)
class _Place:
    """Where a record is in the file."""

    start: int
    end: int


def journal_path(model: Path) -> Path:
    """Where the journal of a model file is."""
    return model.with_name(f"{model.name}.journal")


def read_header(journal: Path) -> Record | None:
    """What a journal goes on from, or None where there is none."""
    if not journal.exists():
        return None
    with open(journal, "rb") as file:
        return JournalReader(file).header


class JournalReader:
    """The committed groups of a journal that is open for reading; other processes may append to it meanwhile."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.header: Record | None = None  # None: not even the beginning was written
        self._groups: list[list[_Place]] = []
        self.start = 0  # where groups begin
        self.end = 0  # of the last commit
        self.interrupted = False  # something follows it
        self.damaged = False  # a commit follows something that cannot be read, or this is no journal
        self._scan()

    def __len__(self) -> int:
        return len(self._groups)

    def commits(self) -> Iterator[Record]:
        """The commit of every group, in order."""
        for places in self._groups:
            yield self._read(places[-1])

    def parts(self, number: int) -> Iterator[Record]:
        """The parts of a group, one at a time."""
        for place in self._groups[number][:-1]:
            yield self._read(place)

    def _scan(self) -> None:
        self._file.seek(0)
        first = self._file.read(len(FIRST_LINE))
        if first != FIRST_LINE:
            self.damaged = not FIRST_LINE.startswith(first)
            return
        parts: list[_Place] = []
        position = len(FIRST_LINE)
        while (record := self._record(position)) is not None:
            kind, end = record
            place = _Place(position, end)
            if self.header is None:
                self.header = self._read(place)
                self.start = self.end = end
            else:
                parts.append(place)
                if kind == "commit":
                    self._groups.append(parts)
                    self.end, parts = end, []
            position = end
        self.interrupted = self._file.seek(0, os.SEEK_END) > self.end
        self.damaged = self._commit_after(position)

    def _record(self, position: int) -> tuple[str, int] | None:
        """Kind and end of the record at a position, or None if there is none that is whole."""
        self._file.seek(position)
        start = self._file.read(_START)
        if len(start) < _START or not start.startswith(MARKER):
            return None
        lengths = start[len(MARKER) : -_CRC.size]
        text_length, arrays_length = _LENGTHS.unpack(lengths)
        if text_length > LONGEST_TEXT:
            return None
        text = self._file.read(text_length)
        check, left = zlib.crc32(text, zlib.crc32(lengths)), arrays_length
        while left and (piece := self._file.read(min(left, 1 << 20))):
            check, left = zlib.crc32(piece, check), left - len(piece)
        if left or check != _CRC.unpack(start[-_CRC.size :])[0]:
            return None
        try:
            return str(json.loads(text)["kind"]), position + _START + text_length + arrays_length
        except (ValueError, KeyError, TypeError, RecursionError):  # its check is right, but this is not ours
            return None

    def _read(self, place: _Place) -> Record:
        self._file.seek(place.start + len(MARKER))
        text_length, _ = _LENGTHS.unpack(self._file.read(_LENGTHS.size))
        self._file.seek(_CRC.size, os.SEEK_CUR)
        text = json.loads(self._file.read(text_length))
        arrays: Arrays = {}
        for name, dtype, shape in text["arrays"]:
            size = math.prod(shape) * np.dtype(dtype).itemsize
            arrays[name] = np.frombuffer(self._file.read(size), dtype).reshape(shape).copy()
        return Record(text["fields"], arrays)

    def _commit_after(self, position: int) -> bool:
        """Whether a whole commit stands somewhere after what cannot be read: then it is no torn end, but damage."""
        self._file.seek(position)
        rest = self._file.read()
        found = rest.find(MARKER, 1)
        while found >= 0:
            record = self._record(position + found)
            if record is not None and record[0] == "commit":
                return True
            found = rest.find(MARKER, found + 1)
        return False


class Group:
    """Records that count only together, once they are committed."""

    def __init__(self, journal: JournalWriter) -> None:
        self._journal = journal
        self.committed = False

    def add(self, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Appends a part."""
        self._journal._append("part", fields, arrays)

    def commit(self, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Makes the group count; it is on the disk when this returns."""
        self._journal._append("commit", fields, arrays)
        self._journal._sync()
        self._journal._settle()
        self.committed = True

    def discard(self) -> None:
        """Takes back what was added, even a commit that did not reach the disk."""
        if not self.committed:
            self._journal._cut()


class JournalWriter:
    """Appends groups to the journal at a path; only one process may have it at a time.

    The file is made with the first group, and is not there while it would have none. To go on with one that is there,
    ``start`` and ``end`` say where its committed groups are; what follows them is cut off.
    """

    def __init__(self, path: Path, header: Record, start: int = 0, end: int = 0) -> None:
        self.path = path
        self.header = header
        self._file: BinaryIO | None = None
        self._start, self._end = start, end
        if end > start:
            with self._explained():
                self._file = open(path, "r+b", buffering=0)  # noqa: SIM115  closed by close()
                self._file.truncate(end)
                self._file.seek(end)
                self._sync()

    @property
    def size(self) -> int:
        """Bytes of all committed groups."""
        return self._end - self._start

    @contextmanager
    def group(self) -> Iterator[Group]:
        """A group to be filled and committed within; otherwise nothing of it stays."""
        if self._file is None:
            self._create()
        group = Group(self)
        try:
            yield group
        finally:
            group.discard()

    def restart(self, header: Record) -> None:
        """Removes everything, when it is in the model file; what follows extends what the header names."""
        self.close()
        with self._explained():
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        self.header, self._start, self._end = header, 0, 0

    def close(self) -> None:
        """Lets go of the file, and removes it if nothing was committed."""
        if self._file is not None:
            self._file.close()
            self._file = None
            if not self.size:
                with suppress(OSError):
                    self.path.unlink()

    def _create(self) -> None:
        self._start = self._end = 0
        try:
            with self._explained():
                self._file = open(self.path, "w+b", buffering=0)  # noqa: SIM115  closed by close()
                _write_all(self._file, FIRST_LINE)
                self._append("header", self.header.fields, self.header.arrays)
                self._sync()
                sync_folder(self.path.parent)
                self._start = self._end = self._file.tell()
        except BaseException:
            self.close()
            raise

    def _append(self, kind: str, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        assert self._file is not None
        ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        description = [[name, array.dtype.str, array.shape] for name, array in ordered.items()]
        text = json.dumps({"kind": kind, "fields": fields, "arrays": description}, ensure_ascii=False).encode()
        body = b"".join(array.tobytes() for array in ordered.values())
        lengths = _LENGTHS.pack(len(text), len(body))
        check = _CRC.pack(zlib.crc32(body, zlib.crc32(text, zlib.crc32(lengths))))
        with self._explained():
            _write_all(self._file, b"".join([MARKER, lengths, check, text, body]))

    def _cut(self) -> None:
        """Takes back what was not committed; where even that fails, the checks on reading find it."""
        if self._file is None:
            return
        with suppress(OSError):
            self._file.truncate(self._end)
        self._file.seek(self._end)

    def _settle(self) -> None:
        """What is there counts from now on."""
        assert self._file is not None
        self._end = self._file.tell()

    def _sync(self) -> None:
        assert self._file is not None
        with self._explained():
            os.fsync(self._file.fileno())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ModelFileError(f"{self.path} cannot be written: {error.strerror or error}") from None


def _write_all(file: BinaryIO, data: bytes) -> None:
    """An unbuffered file may take a part only, as when the disk is nearly full."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


def copied_aside(journal: Path) -> Path:
    """A copy of a journal that could not be used whole, under a name that is free."""
    number = 1
    while (aside := journal.with_name(f"{journal.name}.{number}")).exists():
        number += 1
    return Path(shutil.copy2(journal, aside))
