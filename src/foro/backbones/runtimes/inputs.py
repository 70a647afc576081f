"""What a backbone accepts, checked before anything runs."""

from __future__ import annotations

import numpy as np

from foro.errors import InputError
from foro.types import Float32


def check_pixels(pixels: Float32, image_size: int) -> Float32:
    """Pixels (n, 3, image_size, image_size) as contiguous float32."""
    return _check("Pixels", pixels, ("n", 3, image_size, image_size))


def check_tokens(tokens: Float32, count: int, dim: int) -> Float32:
    """Tokens (n, count, dim) as contiguous float32."""
    return _check("Tokens", tokens, ("n", count, dim))


def check_prompts(prompts: Float32 | None, dim: int) -> Float32:
    """Prompts (K, P, dim) as contiguous float32; no prompt is one candidate of no tokens."""
    if prompts is None:
        return np.empty((1, 0, dim), np.float32)
    return _check("Prompts", prompts, ("K", "P", dim))


def _check(what: str, array: Float32, shape: tuple[int | str, ...]) -> Float32:
    array = np.asarray(array)
    fits = array.ndim == len(shape) and all(
        isinstance(wanted, str) or wanted == found for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(length) for length in shape)
        raise InputError(f"{what} must have shape ({wanted}), not {array.shape}")
    if array.dtype.kind != "f":
        raise InputError(f"{what} must be floating point, not {array.dtype}; images go through preprocessing first")
    checked = np.ascontiguousarray(array, dtype=np.float32)
    # One pass without a mask of the same size: any NaN or infinity makes the sum so.
    if not np.isfinite(checked.sum(dtype=np.float64)):
        raise InputError(f"{what} must be finite, but there are NaN or infinite values")
    return checked
