"""What a ridge classifier would say of each sample had it been fitted on all the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foro.heads.ridge.solver import Solver
from foro.heads.ridge.statistics import Statistics
from foro.types import Float64
from foro.util.threads import one_blas_thread


def best_regularisation(rows: Float64, classes: NDArray[np.int64]) -> float:
    """The γ that generalised cross-validation chooses for rows (n, M) of these classes (n,)."""
    statistics = Statistics(rows.shape[1], thin_limit=len(rows))
    statistics.reserve(int(classes.max()) + 1, len(rows))
    statistics.add(iter([rows]), classes)
    return Solver(statistics, None, seed=0).solve()[1]


@one_blas_thread
def leave_one_out(rows: Float64, targets: Float64, regularisation: float) -> Float64:
    """Leave-one-out scores (n, c) of a ridge classifier on rows (n, M) and targets (n, c), without refitting.

    With A = HHᵀ + γI: loo = Y − A⁻¹Y / diag(A⁻¹).
    """
    inverse = np.linalg.inv(rows @ rows.T + regularisation * np.eye(len(rows)))
    return np.asarray(targets - (inverse @ targets) / np.diag(inverse)[:, None])
