"""How the work is cut into runs."""

from __future__ import annotations

import numpy as np
import pytest

from foro.backbones.architecture import Architecture
from foro.backbones.runtimes.microbatch import run_in_pieces, sequences_per_run

VIT_L = Architecture(patch_size=14, dim=1024, depth=24, heads=16, mlp_hidden=4096, grid=37)
VIT_TI = Architecture(patch_size=16, dim=192, depth=12, heads=3, mlp_hidden=768, grid=14)


def test_the_budget_bounds_large_models_only() -> None:
    assert sequences_per_run(VIT_TI, 197, 256 * 2**20) == 8
    assert sequences_per_run(VIT_L, 1370, 256 * 2**20) == 1
    assert sequences_per_run(VIT_TI, 197, 1) == 1
    assert sequences_per_run(VIT_TI, 197, 2**40, enough=64) == 64


@pytest.mark.parametrize("together", [1, 2, 3, 4, 16, 100])
@pytest.mark.parametrize(("images", "candidates"), [(0, 3), (1, 1), (5, 1), (2, 7), (5, 7)])
@pytest.mark.parametrize("gained", [False, True])
def test_every_pair_is_run_once_and_never_too_many(images: int, candidates: int, together: int, gained: bool) -> None:
    runs = []

    def run(tokens: np.ndarray, prompts: np.ndarray, gains: np.ndarray | None) -> np.ndarray:
        runs.append(len(tokens) * len(prompts))
        own = prompts.sum(axis=1) * 100 + (0 if gains is None else gains.sum(axis=(1, 2))[:, None] * 1000)
        sums = own[:, None, None] + tokens.sum(axis=1)[None, :, None]
        return np.repeat(sums, 2, axis=2)

    tokens = np.arange(images * 2, dtype=np.float32).reshape(images, 2, 1)
    prompts = np.arange(candidates * 3, dtype=np.float32).reshape(candidates, 3, 1)
    gains = np.arange(candidates * 3, dtype=np.float32).reshape(candidates, 1, 3) if gained else None
    found = run_in_pieces(run, tokens, prompts, gains, 2, together)
    own = prompts.sum(axis=1) * 100 + (gains.sum(axis=(1, 2))[:, None] * 1000 if gained else 0)
    expected = np.broadcast_to((own[:, None] + tokens.sum(axis=1)[None])[:, :, None], (candidates, images, 2, 1))
    np.testing.assert_array_equal(found, expected)
    assert sum(runs) == images * candidates
    assert max(runs, default=0) <= together
