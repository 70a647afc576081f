"""Position embeddings for another image size than a checkpoint was trained at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The cubic kernel of PIL, and of torch where it antialiases; timm resamples with antialiasing.
_CUBIC_A = -0.5


def resample_position_embedding(embedding: NDArray[np.float32], prefix_tokens: int, grid: int) -> NDArray[np.float32]:
    """Resample (1, prefix_tokens + g * g, dim) to (1, prefix_tokens + grid * grid, dim).

    Antialiased bicubic on the square grid of patches; the prefix (CLS, registers) is kept as it is.
    """
    prefix, patches = embedding[:, :prefix_tokens], embedding[:, prefix_tokens:]
    old = round(patches.shape[1] ** 0.5)
    if old == grid:
        return embedding
    resample = _resampling_matrix(old, grid)
    square = patches.reshape(old, old, -1).astype(np.float64)
    # Separable: the same matrix for rows and columns.
    resampled = np.einsum("ia,jb,abd->ijd", resample, resample, square, optimize=True)
    return np.concatenate([prefix, resampled.reshape(1, grid * grid, -1).astype(np.float32)], axis=1)


def _resampling_matrix(old: int, new: int) -> NDArray[np.float64]:
    """Weights (new, old) of an antialiased cubic resampling of a line; every row sums to 1."""
    scale = old / new
    centres = (np.arange(new) + 0.5) * scale
    # Shrinking widens the kernel, which is what antialiasing means; growing does not narrow it.
    distances = np.abs(np.arange(old) + 0.5 - centres[:, None]) / max(scale, 1.0)
    weights = _cubic(distances)
    normalised: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normalised


def _cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    a = _CUBIC_A
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))
