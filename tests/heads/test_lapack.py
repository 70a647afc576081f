from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from foro.heads.ridge import lapack, packed


def test_other_threads_go_on_while_a_matrix_is_factorised() -> None:
    size = 2000
    matrix, factor = packed.zeros(size), packed.zeros(size)
    packed.add_rows(matrix, np.random.default_rng(0).standard_normal((50, size)))
    begun, ended = threading.Event(), threading.Event()

    def factorise() -> None:
        begun.set()
        packed.factorise(matrix, size, 1.0, factor)
        ended.set()

    thread = threading.Thread(target=factorise)
    thread.start()
    begun.wait()
    turns = 0
    while not ended.is_set():
        time.sleep(0.001)
        turns += 1
    thread.join()
    assert turns > 3  # with Python's lock held, there would be one


def test_wrong_arguments_are_refused_before_they_reach_lapack() -> None:
    with pytest.raises(TypeError, match="dpftrf takes 5 arguments, not 4"):
        lapack.call("dpftrf", b"N", b"U", 1, packed.zeros(1))
    with pytest.raises(ValueError, match="float64"):
        lapack.call("dpftrf", b"N", b"U", 1, np.zeros(1, np.float32), info=True)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="C-contiguous"):
        packed.add_rows(packed.zeros(3), np.zeros((3, 3)).T[:2])
