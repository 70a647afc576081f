from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from foro.errors import DataError
from foro.research.datasets.archive import Archive
from foro.research.datasets.registry import DatasetEntry, list_datasets
from foro.util.lock import locked
from tests.research.datasets.layouts import LAYOUTS, tar_of
from tests.research.datasets.server import Site, serve

PUBLISHED = [entry for entry in list_datasets() if entry.archive]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "datasets"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with serve(tar_of(LAYOUTS["cifar100"](tmp_path / "made"))) as site:
        yield site


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry.name)
def test_every_published_data_set_is_downloaded_once(
    entry: DatasetEntry, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert entry.archive is not None
    folder = LAYOUTS[entry.name](tmp_path / "made")
    with serve(tar_of(folder), entry.archive.remote.file_name) as site:
        local = replace(entry.archive, remote=site.remote())
        monkeypatch.setattr(sys.modules[entry.load.__module__], "ARCHIVE", local)
        datasets = [entry.load(None), entry.load(None), entry.load(folder), entry.load(folder.parent)]
    assert len(site.requests) == 1
    assert {(len(each.train), len(each.test), len(each.classes)) for each in datasets} == {(9, 3, 3)}
    assert len({each.fingerprint for each in datasets}) == 1  # wherever the files are
    assert sorted(path.name for path in cache.iterdir()) == sorted([folder.name, f"{folder.name}.lock"])


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry.name)
def test_a_folder_without_the_data_set_is_said(entry: DatasetEntry, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither is nor contains a folder"):
        entry.load(tmp_path)
    with pytest.raises(DataError, match=r"there is no folder .*missing"):
        entry.load(tmp_path / "missing")


def test_an_archive_that_cannot_be_unpacked_leaves_no_data_set(site: Site, cache: Path) -> None:
    with pytest.raises(DataError, match="has no folder other"):
        Archive(site.remote(), "other", "*").find()
    assert sorted(path.name for path in cache.iterdir()) == ["archive.tar", "other.lock"]


def _find(archive: Archive, answers: multiprocessing.Queue[str]) -> None:
    answers.put(str(archive.find()))


def test_processes_that_download_at_once_share_one_download(site: Site, cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[str] = context.Queue()
    archive = Archive(site.remote(), "cifar-100-binary", "train.bin")
    others = [context.Process(target=_find, args=(archive, answers)) for _ in range(2)]
    for process in others:
        process.start()
    found = {str(archive.find()), answers.get(timeout=60), answers.get(timeout=60)}
    for process in others:
        process.join()
        assert process.exitcode == 0
    assert found == {str(cache / "cifar-100-binary")}
    assert site.requests == [None]
    assert (cache / "cifar-100-binary" / "train.bin").is_file()


def test_a_lock_has_one_holder_at_a_time(tmp_path: Path) -> None:
    order: list[str] = []

    def other() -> None:
        with locked(tmp_path / "a.lock"):
            order.append("other")

    with locked(tmp_path / "a.lock"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORO_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match="cannot be written"):
        Archive(site.remote(), "cifar-100-binary", "train.bin").find()
