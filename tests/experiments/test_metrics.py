from __future__ import annotations

import numpy as np
import pytest

from foro.experiments.metrics import average_accuracy, average_forgetting

MATRIX = np.array([[0.9, np.nan, np.nan], [0.8, 1.0, np.nan], [0.85, 0.6, 0.7]])


def test_measures_of_a_matrix_worked_out_by_hand() -> None:
    assert average_accuracy(MATRIX) == pytest.approx((0.85 + 0.6 + 0.7) / 3)
    assert average_forgetting(MATRIX) == pytest.approx(((0.9 - 0.85) + (1.0 - 0.6)) / 2)


def test_getting_better_is_negative_forgetting_and_one_task_forgets_nothing() -> None:
    assert average_forgetting(np.array([[0.5, np.nan], [0.7, 1.0]])) == pytest.approx(-0.2)
    assert average_forgetting(np.array([[0.5]])) == 0.0
