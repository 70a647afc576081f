from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foro.heads.ridge.leave_one_out import leave_one_out


@given(st.integers(2, 12), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_closed_form_equals_refitting_without_each_sample(samples: int, size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    H, Y = generator.standard_normal((samples, size)), generator.standard_normal((samples, 3))
    scores = leave_one_out(H, Y, 0.7)
    for left_out in range(samples):
        others = np.arange(samples) != left_out
        W = np.linalg.solve(H[others].T @ H[others] + 0.7 * np.eye(size), H[others].T @ Y[others])
        assert np.allclose(scores[left_out], H[left_out] @ W)
