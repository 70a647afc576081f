"""Pictures that are always there, to measure and to check with where no real ones are given.

Real ones would have to be shipped: the handwritten digits come with scikit-learn, which the core does without.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIDE = 64
"""Pixels."""
WAVES = 5
"""Of each picture."""


def made_up_pictures(count: int) -> NDArray[np.uint8]:
    """Pictures (n, 64, 64, 3), the same every time: each has five waves of its own colours and directions."""
    random = np.random.default_rng(0)
    places = np.stack(np.meshgrid(*[np.linspace(-1, 1, SIDE)] * 2), axis=-1)
    directions = random.normal(0, 6, (count, WAVES, 2))
    phases = random.uniform(0, 2 * np.pi, (count, 1, 1, WAVES))
    waves = np.sin(np.einsum("abd,nwd->nabw", places, directions) + phases)
    colours: NDArray[np.float64] = np.einsum("nabw,nwc->nabc", waves, random.normal(0, 1, (count, WAVES, 3)))
    return (127.5 + 127.5 * np.tanh(colours)).astype(np.uint8)
