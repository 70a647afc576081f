"""Copies: the same image again, resized or encoded anew, told by its features."""

from __future__ import annotations

import numpy as np

from foro.types import Float64

NEAR = 0.1
"""Relative distance below which two samples may be one image, resized or encoded again. Measured: those are at 0.01 to
0.1, different images of one species of bird at 0.17 and more."""
CLOSE = 0.25
"""The same, as a part of how far samples are from their mean: a backbone's features may have much in common, so that
all digits are NEAR. Measured: copies are at 0.03 to 0.25, different digits at 0.28 and more."""
ENOUGH = 16
"""Samples from which on their mean says something."""
MOST_COPIES = 3
WIDE = 64
"""With fewer features, different samples are that near by chance."""
_AT_ONCE = 1024
"""Samples that are compared with all others at a time."""


def find_copies(features: Float64) -> list[list[int]]:
    """For each of the samples (n, d), itself and up to three others that are copies of it, the nearest first.

    A classifier that has seen one of them has seen the other.
    """
    count, width = features.shape
    if width < WIDE:
        return [[number] for number in range(count)]
    squares = (features**2).sum(axis=1)
    most = np.inf
    if count >= ENOUGH:
        spread = ((features - features.mean(axis=0)) ** 2).sum(axis=1).mean()
        if spread > (NEAR / 2) ** 2 * squares.mean():  # or all may be one image
            most = CLOSE**2 * spread
    groups: list[list[int]] = []
    for start in range(0, count, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        distances = squares[part, None] + squares - 2 * features[part] @ features.T
        mine = np.arange(len(distances))
        distances[mine, start + mine] = -1.0
        near = distances <= np.minimum(NEAR**2 * np.maximum(squares[part, None], squares), most)
        groups += [[start + int(row)] for row in mine]
        for row in np.flatnonzero(near.sum(axis=1) > 1):
            others = np.flatnonzero(near[row])
            order = np.argsort(distances[row, others], kind="stable")[: 1 + MOST_COPIES]
            groups[start + row] = others[order].tolist()
    return groups
