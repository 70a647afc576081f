from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from foro.heads.ridge import cholesky, packed
from foro.heads.ridge.gcv import LOWEST


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


def test_tiles_on_the_diagonal_have_their_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TILE", 40), ("SMALL", 8)):
        monkeypatch.setattr(cholesky, name, value)
    size = 101
    rows = np.random.default_rng(0).standard_normal((size + 50, size))
    matrix, factor = packed.zeros(size), cholesky.empty(size)
    packed.add_rows(matrix, rows)
    assert cholesky.factorise(matrix, size, 0.5, factor)
    expected = np.linalg.cholesky(rows.T @ rows + 0.5 * np.eye(size)).T
    tiles = cholesky._Tiles(factor, size)
    for column in range(len(tiles)):
        for row in range(column + 1):
            tile = tiles[row, column]
            found = np.linalg.inv(tile) if row == column else tile
            np.testing.assert_allclose(found, expected[slice(*tiles.span(row)), slice(*tiles.span(column))], atol=1e-9)
        assert not np.tril(tiles[column, column], -1).any()


def test_a_classifier_is_exact_at_the_weakest_regularisation_of_the_grid() -> None:
    size, samples = 1100, 300
    generator = np.random.default_rng(0)
    rows, targets = generator.standard_normal((samples, size)), np.eye(4)[generator.integers(0, 4, samples)]
    gamma = LOWEST * size
    matrix, factor = packed.zeros(size), cholesky.empty(size)
    packed.add_rows(matrix, rows)
    assert cholesky.factorise(matrix, size, gamma, factor)
    expected = rows.T @ np.linalg.solve(rows @ rows.T + gamma * np.eye(samples), targets)
    np.testing.assert_allclose(cholesky.solve(factor, size, rows.T @ targets), expected, rtol=1e-5, atol=1e-8)
