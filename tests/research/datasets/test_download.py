from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import foro.research.datasets.download as module
from foro.errors import DataError
from foro.research.datasets.download import RemoteFile, download
from tests.research.datasets.server import Site, serve

CONTENT = bytes(range(256)) * 4096  # 1 MiB, no two neighbours alike


@pytest.fixture
def site() -> Iterator[Site]:
    with serve(CONTENT) as site:
        yield site


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_is_not_fetched_twice(site: Site, tmp_path: Path) -> None:
    for _ in range(2):
        path = download(site.remote(), tmp_path / "new" / "folder")
        assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["archive.tar"]
    assert site.requests == [None]


def test_a_connection_that_breaks_is_resumed_at_once(site: Site, tmp_path: Path) -> None:
    site.cuts = [300_000, 200_000]
    assert download(site.remote(), tmp_path).read_bytes() == CONTENT
    assert site.requests == [None, "bytes=300000-", "bytes=500000-"]
    assert names(tmp_path) == ["archive.tar"]


def test_a_server_that_stops_sending_is_given_up_and_resumed_next_time(site: Site, tmp_path: Path) -> None:
    site.cuts = [300_000, 0]
    with pytest.raises(DataError, match=r"broke off after 300,000 of 1,048,576 bytes; the same command resumes it"):
        download(site.remote(), tmp_path)
    assert names(tmp_path) == ["archive.tar.part", "archive.tar.part.etag"]
    assert download(site.remote(), tmp_path).read_bytes() == CONTENT
    assert site.requests[-1] == "bytes=300000-"
    assert names(tmp_path) == ["archive.tar"]


def test_a_server_that_breaks_off_for_ever_is_not_asked_for_ever(site: Site, tmp_path: Path) -> None:
    site.cuts = [10] * 1000
    with pytest.raises(DataError, match="broke off after 100 of"):
        download(site.remote(), tmp_path)
    assert len(site.requests) == 10


def test_an_interrupted_download_goes_on(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def impatient(_description: str, _total: int) -> Iterator[Callable[[int], None]]:
        def reached(position: int) -> None:
            if position > 0:
                raise KeyboardInterrupt

        yield reached

    with monkeypatch.context() as patch:
        patch.setattr(module, "byte_progress", impatient)
        with pytest.raises(KeyboardInterrupt):
            download(site.remote(), tmp_path)
    arrived = (tmp_path / "archive.tar.part").stat().st_size
    assert 0 < arrived <= len(CONTENT)
    assert download(site.remote(), tmp_path).read_bytes() == CONTENT
    assert site.requests[1:] in ([f"bytes={arrived}-"], [])  # nothing more to ask for if all had arrived


def test_a_server_without_ranges_sends_everything_again(site: Site, tmp_path: Path) -> None:
    (tmp_path / "archive.tar.part").write_bytes(b"x" * 1000)
    site.ranges = False
    site.etag = None
    assert download(site.remote(), tmp_path).read_bytes() == CONTENT
    assert site.requests == ["bytes=1000-"]


def test_a_file_that_changed_on_the_server_is_not_glued_to_the_old_part(site: Site, tmp_path: Path) -> None:
    site.cuts = [1000, 0]
    with pytest.raises(DataError, match="broke off"):
        download(site.remote(), tmp_path)
    site.content = CONTENT[::-1]
    site.etag = '"second"'
    assert download(site.remote(), tmp_path).read_bytes() == CONTENT[::-1]


def test_a_weak_tag_is_not_relied_on(site: Site, tmp_path: Path) -> None:
    site.etag = 'W/"weak"'
    site.cuts = [1000, 0]
    with pytest.raises(DataError, match="broke off"):
        download(site.remote(), tmp_path)
    assert names(tmp_path) == ["archive.tar.part"]


def test_a_wrong_checksum_leaves_nothing(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="wrong checksum and was deleted"):
        download(site.remote(CONTENT[::-1]), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"x"], ids=["too short", "too long"])
def test_a_wrong_size_leaves_nothing(site: Site, tmp_path: Path, content: bytes) -> None:
    remote = site.remote()
    site.content = content
    with pytest.raises(DataError, match=f"has {len(content)} bytes instead of {len(CONTENT)}"):
        download(remote, tmp_path)
    assert names(tmp_path) == []


def test_a_body_that_never_says_its_length(site: Site, tmp_path: Path) -> None:
    site.says_length = False
    assert download(site.remote(), tmp_path / "good").read_bytes() == CONTENT
    with pytest.raises(DataError, match="sent more than the 1,000 bytes"):
        download(site.remote(CONTENT[:1000]), tmp_path / "long")
    assert names(tmp_path / "long") == []


@pytest.mark.parametrize("ending", [b"", b"x"], ids=["as long", "longer"])
def test_a_part_of_something_else_is_thrown_away(site: Site, tmp_path: Path, ending: bytes) -> None:
    (tmp_path / "archive.tar.part").write_bytes(CONTENT[::-1] + ending)
    with pytest.raises(DataError, match=r"wrong checksum|sent more"):
        download(site.remote(), tmp_path)
    assert download(site.remote(), tmp_path).read_bytes() == CONTENT


def test_a_part_longer_than_what_is_there_now(site: Site, tmp_path: Path) -> None:
    remote = site.remote()
    (tmp_path / "archive.tar.part").write_bytes(CONTENT[:-1])
    site.content = CONTENT[:1000]
    with pytest.raises(DataError, match="has 1000 bytes instead of"):
        download(remote, tmp_path)
    site.content = CONTENT
    assert download(remote, tmp_path).read_bytes() == CONTENT


def test_another_part_than_the_one_asked_for(site: Site, tmp_path: Path) -> None:
    site.cuts = [1000]
    site.wrong_range = True
    with pytest.raises(DataError, match="another part of the file"):
        download(site.remote(), tmp_path)


@pytest.mark.parametrize(("status", "said"), [(404, "answered 404 Not Found"), (503, "answered 503")])
def test_refusals_are_said(site: Site, tmp_path: Path, status: int, said: str) -> None:
    site.status = status
    with pytest.raises(DataError, match=f"archive.tar {said}.*data folder") as caught:
        download(site.remote(), tmp_path)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a.tar", "http://host.invalid/a.tar"])
def test_an_unreachable_host_is_said(tmp_path: Path, url: str) -> None:
    with pytest.raises(DataError, match=r"a\.tar cannot be reached: \w.*data folder"):
        download(RemoteFile(url, 10, "0" * 32), tmp_path)
    assert names(tmp_path) == []


def test_a_disk_without_room(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=5000))
    with pytest.raises(DataError, match="needs 1,048,576 bytes, but its disk has only 5,000 left"):
        download(site.remote(), tmp_path)
    assert site.requests == []


def test_a_folder_that_cannot_be_written(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(DataError, match=r"archive\.tar cannot be written: "):
        download(site.remote(), tmp_path / "file" / "folder")

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"archive\.tar cannot be written: No space left on device"):
        download(site.remote(), tmp_path)
    assert not (tmp_path / "archive.tar").exists()


def test_a_redirection_is_followed_and_resumed(site: Site, tmp_path: Path) -> None:
    site.cuts = [1000]
    moved = replace(site.remote(), url=site.address.replace("archive.tar", "moved/archive.tar"))
    assert download(moved, tmp_path).read_bytes() == CONTENT
    assert site.requests == [None, "bytes=1000-"]
