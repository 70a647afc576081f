from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

import foro.research.datasets.unpack as module
from foro.errors import DataError
from foro.research.datasets.unpack import unpack


def member(
    name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def write(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return path


GOOD = member("set/a.txt", b"hello")

HOSTILE = {
    "absolute": member("/tmp/foro-escaped"),
    "upwards": member("../escaped"),
    "upwards inside": member("set/../../escaped"),
    "backslashes": member("set\\..\\..\\escaped"),
    "drive": member("C:escaped"),
    "symbolic link": member("set/link", kind=tarfile.SYMTYPE, link="/etc"),
    "relative link": member("set/link", kind=tarfile.SYMTYPE, link="a.txt"),
    "hard link": member("set/link", kind=tarfile.LNKTYPE, link="../escaped"),
    "character device": member("set/device", kind=tarfile.CHRTYPE),
    "block device": member("set/device", kind=tarfile.BLKTYPE),
    "pipe": member("set/pipe", kind=tarfile.FIFOTYPE),
}


@pytest.mark.parametrize("options", [module._FILTER, {}], ids=["with filter", "as before Python 3.10.12"])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_files_arrive_without_their_owners_and_modes(
    tmp_path: Path, mode: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FILTER", options)
    folder, _ = member("set/empty", kind=tarfile.DIRTYPE)
    strange, content = member("set/deep/b.txt", b"there")
    strange.mode, strange.uid = 0o6777, 12345
    archive = write(tmp_path / "set.tar", (folder, b""), GOOD, (strange, content), member("beside.txt"), mode=mode)
    unpack(archive, tmp_path / "set")
    assert (tmp_path / "set" / "a.txt").read_bytes() == b"hello"
    assert (tmp_path / "set" / "empty").is_dir()
    arrived = tmp_path / "set" / "deep" / "b.txt"
    assert arrived.read_bytes() == b"there"
    assert arrived.stat().st_mode & 0o7111 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", "set.tar"]


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_members_are_named_and_nothing_is_left(tmp_path: Path, hostile: tuple[tarfile.TarInfo, bytes]) -> None:
    home = tmp_path / "a" / "b"
    home.mkdir(parents=True)
    archive = write(home / "set.tar", GOOD, hostile)
    with pytest.raises(DataError, match=r"set\.tar contains .*(neither a file nor a folder|lead out of its folder)"):
        unpack(archive, home / "set")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [archive]
    assert sorted(home.iterdir()) == [archive]


def test_a_file_through_a_link_that_was_unpacked_before(tmp_path: Path) -> None:
    archive = write(tmp_path / "set.tar", member("set/out", kind=tarfile.SYMTYPE, link=".."), member("set/out/x"))
    with pytest.raises(DataError, match="neither a file nor a folder"):
        unpack(archive, tmp_path / "set")


def test_limits_are_checked_before_anything_large_is_written(tmp_path: Path) -> None:
    archive = write(tmp_path / "set.tar", GOOD, member("set/b", b"x" * 1000))
    with pytest.raises(DataError, match="more than 100,000 files or 1,000 bytes"):
        unpack(archive, tmp_path / "set", most_bytes=1000)
    with pytest.raises(DataError, match="more than 1 files"):
        unpack(archive, tmp_path / "set", most_files=1)
    assert not (tmp_path / "set").exists()
    unpack(archive, tmp_path / "set", most_bytes=1005, most_files=2)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_damage_is_said_and_nothing_is_left(tmp_path: Path, mode: str) -> None:
    archive = write(tmp_path / "set.tar", GOOD, member("set/b", bytes(range(256)) * 200), mode=mode)
    whole = archive.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"no archive at all", whole[:40] + b"\xff" * 40 + whole[80:]):
        archive.write_bytes(damaged)
        with pytest.raises(DataError, match=r"set\.tar is damaged and should be deleted"):
            unpack(archive, tmp_path / "set")
        assert sorted(tmp_path.iterdir()) == [archive]


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    archive = write(tmp_path / "set.tar", member("other/a.txt"))
    with pytest.raises(DataError, match="has no folder set"):
        unpack(archive, tmp_path / "set")
    with pytest.raises(DataError, match="cannot be unpacked into"):
        unpack(tmp_path / "none.tar", tmp_path / "set")


def test_leftovers_of_a_killed_process_are_cleared(tmp_path: Path) -> None:
    (tmp_path / ".set.unpacking" / "set").mkdir(parents=True)
    (tmp_path / ".set.unpacking" / "set" / "half.txt").write_text("half")
    unpack(write(tmp_path / "set.tar", GOOD), tmp_path / "set")
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["a.txt"]
