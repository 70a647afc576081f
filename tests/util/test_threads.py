"""One place decides how many threads work, and leaves the settings of others as they were."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from foro.util.system import allowed_cores, cores_of_group
from foro.util.threads import one_blas_thread, thread_count


def blas_threads() -> set[int]:
    """Those of NumPy's BLAS: other tests load SciPy, which brings another one."""
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {library["num_threads"] for library in blas if "numpy" in library["filepath"]}


@pytest.mark.parametrize(("wanted", "most"), [("1", 1), ("1,4", 1), ("1000", None), ("", None), ("many", None)])
def test_the_environment_can_lower_the_number_of_threads(
    wanted: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", wanted)
    assert thread_count() == (allowed_cores() if most is None else most)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"a/b/cpu.max": "150000 100000"}, 2),
        ({"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        ({"a/b/cpu.max": "20000 100000"}, 1),
        ({"a/b/cpu.max": "max 100000"}, sys.maxsize),
        ({}, sys.maxsize),
    ],
)
def test_the_quota_of_a_container_counts(files: dict[str, str], cores: int, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "own").write_text("4:memory:/elsewhere\n0::/a/b\n")
    assert cores_of_group(tmp_path / "own", tmp_path) == cores
    assert cores_of_group(tmp_path / "none", tmp_path) == sys.maxsize


def test_blas_has_one_thread_inside_and_its_own_number_again_outside() -> None:
    with threadpool_limits(2, user_api="blas"):
        inside: list[set[int]] = []

        @one_blas_thread
        def other() -> None:
            inside.append(blas_threads())

        with one_blas_thread:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            other()
            inside.append(blas_threads())
        assert inside == [{1}, {1}, {1}]
        assert blas_threads() == {2}


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_process_of_foro_starts_no_threads_for_blas() -> None:
    code = """
import os
from foro.util.threads import set_environment
set_environment()
import numpy
numpy.ones((500, 500)) @ numpy.ones((500, 500))
print(len(os.listdir("/proc/self/task")))
"""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
