from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from foro.util import large_arrays
from foro.util.large_arrays import LARGE, parts, release, zeros

COUNT = LARGE // 8 + 1000
on_disk = pytest.mark.skipif(not large_arrays._CAN_LET_GO, reason="memory cannot be told here to let go of a file")


def test_nothing_is_lost_when_memory_lets_go() -> None:
    array = zeros(COUNT)
    assert not array.any()
    array[:] = np.arange(COUNT)
    release(array, array[7:])
    assert np.array_equal(array, np.arange(COUNT))
    for mine, other in parts(array, np.full(COUNT, 2.0)):
        mine *= other
    assert np.array_equal(array, 2 * np.arange(COUNT))


@on_disk
def test_memory_lets_go_of_what_is_in_a_file_and_small_arrays_are_in_none() -> None:
    assert large_arrays._mapping(zeros(COUNT)) is not None
    assert large_arrays._mapping(zeros(1000)) is None


@on_disk
def test_what_was_changed_beside_a_read_only_part_of_a_mapped_file_stays(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_bytes(np.arange(10_000.0).tobytes())
    mapped = np.memmap(tmp_path / "numbers", np.float64, mode="c").view(np.ndarray)
    before, kept, after = mapped[:1000], mapped[1000:9000], mapped[9000:]
    kept.flags.writeable = False
    before += 1
    after += 1
    release(before, kept, after)
    assert np.array_equal(before, np.arange(1, 1001))
    assert np.array_equal(after, np.arange(9001, 10_001))
    assert np.array_equal(kept, np.arange(1000, 9000))


def test_without_room_on_the_disk_it_is_in_memory() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGE // 2, hard))
    try:
        array = zeros(COUNT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert large_arrays._mapping(array) is None
    assert len(array) == COUNT
    assert not array.any()


@on_disk
def test_a_large_matrix_and_its_factor_are_never_in_memory_at_once() -> None:
    program = """
import sys
import numpy as np
from foro.heads.ridge.solver import Solver
from foro.heads.ridge.statistics import Statistics
from foro.util.system import peak_megabytes

size = 6144
statistics = Statistics(size, thin_limit=1)
statistics.reserve(2, 64)
rows = np.random.default_rng(0).standard_normal((64, size))
before = peak_megabytes()
statistics.add(iter([rows]), np.arange(64) % 2)
weights, _ = Solver(statistics, 10.0, seed=0).solve()
peak = peak_megabytes()
np.testing.assert_allclose(rows.T @ (rows @ weights) + 10 * weights, statistics.cross, atol=1e-6)
print(peak - before, 8 * size * size / 2**20)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    grown, both = map(float, done.stdout.split())
    assert grown < both / 2
