"""The journal: what is committed is read again, whatever happens to the end of the file."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foro.errors import ModelFileError
from foro.files.journal import JournalReader, JournalWriter, Record

HEADER = Record({"stamp": "žluťoučký"}, {"start": np.arange(3.0)})


def write(path: Path, groups: int) -> list[int]:
    """A journal of groups of 0, 1, 2, … parts; returns where each of them ends."""
    journal = JournalWriter(path, HEADER)
    ends = []
    for number in range(groups):
        with journal.group() as group:
            for part in range(number):
                group.add({"part": part, "labels": ["ü", 1]}, {"features": np.full((2, 3), part, np.float32)})
            group.commit({"number": number}, {"prompt": np.ones(number)} if number else {})
        ends.append(path.stat().st_size)
    journal.close()
    return ends


def read(content: bytes | Path) -> tuple[list[int], JournalReader]:
    """Numbers of the groups that count, all of whose content is checked."""
    journal = JournalReader(io.BytesIO(content if isinstance(content, bytes) else content.read_bytes()))
    numbers = []
    for place, commit in enumerate(journal.commits()):
        number = commit.fields["number"]
        assert [part.fields["part"] for part in journal.parts(place)] == list(range(number))
        for part in journal.parts(place):
            assert part.fields["labels"] == ["ü", 1]
            assert np.array_equal(part.arrays["features"], np.full((2, 3), part.fields["part"], np.float32))
            assert part.arrays["features"].dtype == np.float32
        numbers.append(number)
    return numbers, journal


def begin(journal: JournalWriter, error: BaseException | None) -> None:
    """A group that ends with an error, or else is committed."""
    with journal.group() as group:
        group.add({"part": 0}, {"features": np.ones((200, 3), np.float32)})
        if error:
            raise error
        group.commit({"number": 1}, {})


def test_everything_committed_is_read_again(tmp_path: Path) -> None:
    write(tmp_path / "journal", 4)
    numbers, journal = read(tmp_path / "journal")
    assert numbers == [0, 1, 2, 3]
    assert journal.header is not None
    assert journal.header.fields == HEADER.fields
    assert np.array_equal(journal.header.arrays["start"], np.arange(3.0))
    assert not journal.interrupted
    assert not journal.damaged


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[int]]:
    """A journal of four groups, and where each of them ends."""
    path = tmp_path_factory.mktemp("journal") / "journal"
    ends = write(path, 4)
    return path.read_bytes(), ends


def test_a_torn_end_costs_no_more_than_the_group_that_it_tears(four: tuple[bytes, list[int]]) -> None:
    whole, ends = four
    for length in range(len(whole)):
        numbers, journal = read(whole[:length])
        assert numbers == [number for number, end in enumerate(ends) if end <= length]
        assert not journal.damaged
        if journal.header is not None:
            assert journal.interrupted == (length > journal.end)


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_bit_is_found_and_what_follows_is_not_believed(
    four: tuple[bytes, list[int]], place: int, bit: int
) -> None:
    whole, ends = four
    content, place = bytearray(whole), place % len(whole)
    content[place] ^= 1 << bit
    numbers, journal = read(bytes(content))
    assert numbers == ([] if journal.header is None else [number for number, end in enumerate(ends) if end <= place])
    assert journal.damaged or place >= ends[-2]  # in the last group it may as well be a torn end


def test_what_is_not_committed_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = JournalWriter(path, HEADER)
    with pytest.raises(KeyboardInterrupt):
        begin(journal, KeyboardInterrupt())
    assert journal.size == 0
    with journal.group() as group:
        group.commit({"number": 0}, {})
    size = path.stat().st_size
    with pytest.raises(ValueError, match="no"):
        begin(journal, ValueError("no"))
    assert path.stat().st_size == size
    assert journal.size > 0
    journal.close()
    assert read(path)[0] == [0]


def test_it_goes_on_after_what_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    ends = write(path, 3)
    with open(path, "ab") as file:
        file.write(path.read_bytes()[-40:-7])
    _, found = read(path)
    assert found.interrupted
    journal = JournalWriter(path, HEADER, found.start, found.end)
    assert path.stat().st_size == ends[-1]
    with journal.group() as group:
        group.commit({"number": 0}, {})
    journal.close()
    assert read(path)[0] == [0, 1, 2, 0]


def test_there_is_no_file_where_nothing_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = JournalWriter(path, HEADER)
    assert not path.exists()
    with pytest.raises(ValueError, match="no"), journal.group():
        raise ValueError("no")
    journal.close()
    assert not path.exists()
    with journal.group() as group:
        group.commit({"number": 0}, {})
    journal.restart(Record({"stamp": "next"}, {}))
    assert not path.exists()
    with journal.group() as group:
        group.commit({"number": 0}, {})
    journal.close()
    header = read(path)[1].header
    assert header is not None
    assert header.fields == {"stamp": "next"}


def test_a_full_disk_is_one_sentence_and_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    ends = write(path, 3)
    _, found = read(path)
    journal = JournalWriter(path, HEADER, found.start, found.end)

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ModelFileError, match="journal cannot be written: No space left"):
            begin(journal, None)
    assert path.stat().st_size == ends[-1]
    with journal.group() as group:
        group.commit({"number": 0}, {})
    journal.close()
    assert read(path)[0] == [0, 1, 2, 0]
    fresh = JournalWriter(tmp_path / "no" / "journal", HEADER)
    with pytest.raises(ModelFileError, match="cannot be written: No such file"), fresh.group():
        pass


@pytest.mark.parametrize(
    ("content", "foreign"),
    [(b"", False), (b"foro jour", False), (b"foro journal 1\n", False), (b"hello", True), (b"\x00rec" * 40, True)],
)
def test_foreign_files_count_for_nothing(content: bytes, foreign: bool) -> None:
    numbers, journal = read(content)
    assert numbers == []
    assert journal.header is None
    assert journal.damaged == foreign
