from __future__ import annotations

import numpy as np
import pytest

from foro.evaluation.continual import (
    average_accuracy,
    average_forgetting,
    average_incremental_accuracy,
    backward_transfer,
    last_accuracy,
)

MATRIX = np.array([[0.9, np.nan, np.nan], [0.8, 1.0, np.nan], [0.85, 0.6, 0.7]])


def test_measures_of_a_matrix_worked_out_by_hand() -> None:
    assert average_accuracy(MATRIX) == pytest.approx((0.85 + 0.6 + 0.7) / 3)
    assert average_forgetting(MATRIX) == pytest.approx(((0.9 - 0.85) + (1.0 - 0.6)) / 2)
    assert average_incremental_accuracy(MATRIX) == pytest.approx((0.9 + 0.9 + 2.15 / 3) / 3)
    assert last_accuracy(MATRIX, [10, 10, 20]) == pytest.approx((8.5 + 6 + 14) / 40)
    assert backward_transfer(MATRIX) == pytest.approx(((0.85 - 0.9) + (0.6 - 1.0)) / 2)


def test_getting_better_is_negative_forgetting_and_one_task_forgets_nothing() -> None:
    assert average_forgetting(np.array([[0.5, np.nan], [0.7, 1.0]])) == pytest.approx(-0.2)
    assert backward_transfer(np.array([[0.5, np.nan], [0.7, 1.0]])) == pytest.approx(0.2)
    assert average_forgetting(np.array([[0.5]])) == 0.0
    assert backward_transfer(np.array([[0.5]])) == 0.0


def test_forgetting_counts_from_the_peak_and_transfer_from_the_first_time() -> None:
    peak_later = np.array([[0.5, np.nan, np.nan], [0.9, 0.8, np.nan], [0.6, 0.8, 0.7]])
    assert average_forgetting(peak_later) == pytest.approx(((0.9 - 0.6) + 0.0) / 2)
    assert backward_transfer(peak_later) == pytest.approx(((0.6 - 0.5) + 0.0) / 2)


def test_last_accuracy_is_average_accuracy_for_tasks_of_equal_size() -> None:
    assert last_accuracy(MATRIX, [7, 7, 7]) == pytest.approx(average_accuracy(MATRIX))
