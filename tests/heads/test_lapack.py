from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from foro.heads.ridge import cholesky, lapack, packed


def test_other_threads_go_on_while_a_matrix_is_factorised() -> None:
    size = 2000
    matrix, factor = packed.zeros(size), cholesky.empty(size)
    packed.add_rows(matrix, np.random.default_rng(0).standard_normal((50, size)))
    begun, ended = threading.Event(), threading.Event()

    def factorise() -> None:
        begun.set()
        cholesky.factorise(matrix, size, 1.0, factor)
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
    with pytest.raises(TypeError, match="dpotrf takes 5 arguments, not 3"):
        lapack.call("dpotrf", b"U", 1, packed.zeros(1))
    with pytest.raises(ValueError, match="float64"):
        lapack.call("dpotrf", b"U", 1, np.zeros(1, np.float32), 1, info=True)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="C-contiguous"):
        packed.add_rows(packed.zeros(3), np.zeros((3, 3)).T[:2])


@pytest.mark.parametrize("capsules", [{}, "int64"])
def test_the_wrappers_of_scipy_give_the_same(capsules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SciPy publishes no addresses, or where its integers are longer than ours."""
    generator = np.random.default_rng(0)
    size = 33
    rows, right, shift = generator.standard_normal((50, size)), generator.standard_normal((size, 4)), 0.5

    def everything() -> list[np.ndarray]:
        matrix, factor = packed.zeros(size), cholesky.empty(size)
        packed.add_rows(matrix, rows)
        packed.add_rows(matrix, rows[:7], -1.0)
        assert cholesky.factorise(matrix, size, shift, factor)
        assert not cholesky.factorise(matrix, size, -1e6, cholesky.empty(size))
        solved, norms = cholesky.solve(factor, size, right), cholesky.squared_norms(factor, size, rows)
        return [matrix, packed.unpack(matrix, size), factor, solved, norms]

    called: list[str] = []
    wrapped = lapack._call_wrapper
    monkeypatch.setattr(lapack, "_call_wrapper", lambda name, *given: called.append(name) or wrapped(name, *given))
    direct = everything()
    assert not called
    lapack._routine.cache_clear()
    if capsules == "int64":
        monkeypatch.setattr(lapack, "_C_INT", b"long *")
    else:
        monkeypatch.setattr(lapack, "_capsules", lambda: capsules)
    try:
        by_wrappers = everything()
    finally:
        lapack._routine.cache_clear()
    assert set(called) == {"dsfrk", "dtfttr", "dpotrf", "dtrsm", "dgemm", "dsyrk"}
    for one, other in zip(direct, by_wrappers, strict=True):
        np.testing.assert_array_equal(one, other)
    dense = rows[7:].T @ rows[7:]
    np.testing.assert_allclose(by_wrappers[1], dense, atol=1e-12)
    np.testing.assert_allclose(by_wrappers[3], np.linalg.solve(dense + shift * np.eye(size), right), atol=1e-12)
