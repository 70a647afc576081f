"""The paper's recursion, as written: the readable reference that the fast solver is tested against.

It inverts nothing but small matrices, yet keeps the full M × M inverse R and loses digits with every update.
"""

from __future__ import annotations

import numpy as np

from foro.types import Float64


class RecursiveReference:
    """Knowledge encoding matrix R (M, M) and classifier W (M, c), updated from features X (n, M) and one-hot Y (n, c).

    >>> reference = RecursiveReference(size=2, classes=1, regularisation=1.0)
    >>> reference.update(np.array([[1.0, 0.0]]), np.array([[1.0]]))
    >>> reference.weights.tolist()
    [[0.5], [0.0]]
    """

    def __init__(self, size: int, classes: int, regularisation: float) -> None:
        self.inverse = np.eye(size) / regularisation  # R_0 = (γ I)⁻¹
        self.weights = np.zeros((size, classes))

    def update(self, X: Float64, Y: Float64) -> None:
        R, W = self.inverse, self.weights
        # R_t = R_{t-1} − R_{t-1} Xᵀ (I + X R_{t-1} Xᵀ)⁻¹ X R_{t-1}   (the paper's KEM update, by Woodbury)
        R = R - R @ X.T @ np.linalg.solve(np.eye(len(X)) + X @ R @ X.T, X) @ R
        # W_t = W_{t-1} + R_t Xᵀ (Y − X W_{t-1})   (the paper's incremental weight update)
        self.inverse, self.weights = R, W + R @ X.T @ (Y - X @ W)
