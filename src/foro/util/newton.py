"""Where a smooth function of a few numbers is lowest, by Newton's steps: downhill, and within bounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from foro.types import Float64

MOST_STEPS, PRECISION = 50, 1e-8
"""A search takes about six steps; it ends where one is shorter than this."""

MOST_HALVINGS = 30

FLAT = 1e-12
"""Least curvature, so that nothing is divided by zero."""

APART = 1e-4
"""How far apart values are taken for their differences, of numbers that are about 1."""

Derivatives = Callable[[Float64], tuple[Float64, Float64]]
"""Gradient (k,) and curvature (k, k) at a place (k,)."""


def minimum(
    function: Callable[[Float64], float],
    derivatives: Derivatives,
    start: Float64,
    least: float | Float64 = -np.inf,
    most: float | Float64 = np.inf,
    longest: float = np.inf,
) -> Float64:
    """The place (k,) that is reached from the start; ``longest`` keeps a step from leaping into another valley."""
    found, lowest = start, function(start)
    for _ in range(MOST_STEPS):
        gradient, curvature = derivatives(found)
        free = np.where(gradient > 0, found > least, found < most)
        # Where the function bends down, Newton's step leads uphill, and its opposite downhill.
        values, vectors = np.linalg.eigh(curvature[np.ix_(free, free)])
        step = np.zeros(len(found))
        step[free] = vectors @ (vectors.T @ gradient[free] / np.maximum(np.abs(values), FLAT))
        step *= min(1.0, longest / max(np.abs(step).max(), FLAT))
        places = (np.clip(found - 0.5**halving * step, least, most) for halving in range(MOST_HALVINGS))
        better = next(((place, value) for place in places if (value := function(place)) < lowest), None)
        if better is None:
            break
        moved = np.abs(better[0] - found).max()
        found, lowest = better
        if moved < PRECISION:
            break
    return found


def by_differences(function: Callable[[Float64], float]) -> Derivatives:
    """The derivatives of a function that none are known of."""

    def derivatives(place: Float64) -> tuple[Float64, Float64]:
        moves, here = np.eye(len(place)) * APART, function(place)
        ahead, behind = (np.array([function(place + sign * move) for move in moves]) for sign in (1, -1))
        curvature = np.diag(ahead + behind - 2 * here)
        for one, other in combinations(range(len(place)), 2):
            both = function(place + moves[one] + moves[other]) + function(place - moves[one] - moves[other])
            alone = ahead[one] + ahead[other] + behind[one] + behind[other]
            curvature[one, other] = curvature[other, one] = (both - alone + 2 * here) / 2
        return (ahead - behind) / (2 * APART), curvature / APART**2

    return derivatives
