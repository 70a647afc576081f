"""Resampled position embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from foro.backbones.position import resample_position_embedding


def embedding(prefix: int, grid: int, dim: int = 6) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((1, prefix + grid**2, dim)).astype(np.float32)


def test_the_same_grid_is_left_alone() -> None:
    original = embedding(1, 5)
    assert resample_position_embedding(original, 1, 5) is original


@pytest.mark.parametrize("grid", [2, 3, 9, 16])
def test_prefix_and_constants_are_kept(grid: int) -> None:
    original = embedding(3, 7)
    original[:, 3:] = 2.5
    resampled = resample_position_embedding(original, 3, grid)
    assert resampled.shape == (1, 3 + grid**2, 6)
    assert resampled.dtype == np.float32
    np.testing.assert_array_equal(resampled[:, :3], original[:, :3])
    np.testing.assert_allclose(resampled[:, 3:], 2.5, rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("prefix", [0, 1, 5])
@pytest.mark.parametrize(("old", "new"), [(14, 7), (14, 4), (14, 16), (7, 37), (37, 16), (16, 15), (2, 9), (14, 1)])
def test_equal_to_timm(prefix: int, old: int, new: int) -> None:
    import torch
    from timm.layers import resample_abs_pos_embed

    original = embedding(prefix, old)
    expected = resample_abs_pos_embed(torch.from_numpy(original), [new, new], num_prefix_tokens=prefix)
    np.testing.assert_allclose(resample_position_embedding(original, prefix, new), expected.numpy(), atol=1e-5)
