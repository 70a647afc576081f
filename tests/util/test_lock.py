"""One holder at a time, also where every holder removes the file of the lock."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from foro.errors import DataError
from foro.util import lock
from foro.util.lock import locked


@pytest.mark.parametrize("tidy", [False, True])
def test_holders_take_turns(tmp_path: Path, tidy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_PAUSE", 0.0005)
    holders, most, turns = [], [], []

    def work() -> None:
        for _ in range(20):
            with locked(tmp_path / "lock", tidy=tidy) as held:
                assert held
                holders.append(1)
                most.append(len(holders))
                time.sleep(0.0002)
                holders.pop()
            turns.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (max(most), len(turns)) == (1, 120)
    assert (tmp_path / "lock").exists() != tidy


def test_without_waiting_it_is_told_whether_the_lock_is_held(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", tidy=True) as mine, locked(tmp_path / "lock", wait=False, tidy=True) as other:
        assert (mine, other) == (True, False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"), locked(tmp_path / "file" / "lock"):
        pass


def test_who_waits_gets_the_lock_although_the_holder_removes_its_folder(tmp_path: Path) -> None:
    got = threading.Event()

    def wait() -> None:
        with locked(tmp_path / "work" / "lock") as held:
            assert held
            got.set()

    with locked(tmp_path / "work" / "lock"):
        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.05)
        assert not got.is_set()
        shutil.rmtree(tmp_path / "work")
    waiter.join()
    assert got.is_set()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = f"""if True:
        import pathlib, time
        from foro.util.lock import locked
        with locked(pathlib.Path({str(tmp_path / "lock")!r}), tidy=True):
            print(flush=True)
            time.sleep(600)"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with locked(tmp_path / "lock", wait=False) as held:
            assert not held
        holder.kill()
        holder.wait()
        with locked(tmp_path / "lock", wait=False) as held:
            assert held
