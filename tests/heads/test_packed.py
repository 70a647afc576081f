from __future__ import annotations

import numpy as np
import pytest

from foro.heads.ridge import cholesky, packed


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 10, 33, 64])
def test_packed_matrix_is_the_dense_one(size: int) -> None:
    generator = np.random.default_rng(size)
    rows, gone = generator.standard_normal((size + 3, size)), generator.standard_normal((2, size))
    matrix = packed.zeros(size)
    packed.add_rows(matrix, rows)
    packed.add_rows(matrix, gone)
    packed.add_rows(matrix, gone, sign=-1.0)
    dense = rows.T @ rows
    assert np.allclose(packed.unpack(matrix, size), dense)
    assert np.allclose(matrix[packed.diagonal(size)], np.diag(dense))
    block = size // 2
    assert np.allclose(packed.leading_block(matrix, size, block), dense[:block, :block])
    factor = cholesky.empty(size)
    assert cholesky.factorise(matrix, size, 0.5, factor)
    right = generator.standard_normal((size, 3))
    assert np.allclose(cholesky.solve(factor, size, right), np.linalg.solve(dense + 0.5 * np.eye(size), right))


def test_rows_must_lie_one_after_another() -> None:
    with pytest.raises(ValueError, match="C-contiguous"):
        packed.add_rows(packed.zeros(3), np.zeros((3, 3)).T[:2])


@pytest.mark.parametrize("size", [2, 9, 64, 101])
def test_strips_make_the_same_matrix_however_many_threads_there_are(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(size)
    rows, right = generator.standard_normal((size + 3, size)), generator.standard_normal((size, 7))

    def everything() -> list[np.ndarray]:
        matrix = packed.zeros(size)
        factor = cholesky.empty(size)
        packed.add_rows(matrix, rows)
        assert cholesky.factorise(matrix, size, 0.5, factor)
        return [matrix, cholesky.solve(factor, size, right), cholesky.squared_norms(factor, size, rows)]

    whole = everything()
    for module, name, width in (
        (packed, "STRIP", 8),
        (cholesky, "TILE", 5),
        (cholesky, "SMALL", 2),
        (cholesky, "SOLVED", 2),
    ):
        monkeypatch.setattr(module, name, width)
    cut = []
    for threads in (1, 3):
        monkeypatch.setattr("foro.util.parallel.thread_count", lambda threads=threads: threads)
        cut.append(everything())
    for one, few, many in zip(whole, *cut, strict=True):
        np.testing.assert_array_equal(few, many)
        np.testing.assert_allclose(few, one, atol=1e-9)


def test_what_is_not_positive_definite_is_told() -> None:
    matrix = packed.zeros(4)
    packed.add_rows(matrix, np.ones((1, 4)), sign=-1.0)
    assert not cholesky.factorise(matrix, 4, 0.1, cholesky.empty(4))


@pytest.mark.parametrize("size", [4, 8, 12, 64])
def test_every_second_row_and_column_is_a_packed_matrix(size: int) -> None:
    rows = np.random.default_rng(size).standard_normal((size + 3, size))
    matrix = packed.zeros(size)
    packed.add_rows(matrix, rows)
    assert np.allclose(packed.unpack(packed.every_second(matrix, size), size // 2), rows[:, ::2].T @ rows[:, ::2])


def test_threads_that_add_side_by_side_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 1024
    rows = np.random.default_rng(0).standard_normal((4, size))
    monkeypatch.setattr(packed, "STRIP", 64)

    def added(threads: int) -> np.ndarray:
        monkeypatch.setattr("foro.util.parallel.thread_count", lambda: threads)
        matrix = packed.zeros(size)
        for _ in range(4):
            packed.add_rows(matrix, rows)
        return matrix

    alone = added(1)
    assert all(np.array_equal(added(4), alone) for _ in range(150))
