"""The search for a prompt on one task, and the check that it does no harm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.adaptation.evolution import PromptDistribution, PromptEvolution
from foro.features.sample import Judge
from foro.types import Float32, Float64
from foro.util.progress import progress_bar


@dataclass(frozen=True)
class Found:
    """The best candidate (P, dim) of a search, its fitness, and where the search stood when it ended."""

    prompt: Float32
    fitness: float
    distribution: PromptDistribution
    generations: int


def search_prompt(judge: Judge, evolution: PromptEvolution, generations: int, patience: int) -> Found:
    """Evolves a prompt on one fixed sample: every candidate is judged on the same images."""
    best, best_fitness, since = evolution.distribution.mean, np.inf, 0
    done = 0
    with progress_bar("evolving the prompt", generations, "generations") as advance:
        while done < generations and since < patience:
            candidates = evolution.ask()
            values = judge(candidates)
            evolution.tell(values)
            done, since = done + 1, since + 1
            if min(values) < best_fitness:
                best, best_fitness, since = candidates[int(np.argmin(values))], min(values), 0
            advance(1)
    return Found(best, float(best_fitness), evolution.distribution, done)


def improves(empty: Float64, prompted: Float64, unseen: NDArray[np.bool_]) -> bool:
    """Whether a prompt beats the empty one on images that the search did not see.

    The cross-entropies (n,) without and with the prompt are of leave-one-out scores, so that each unseen image is
    judged by a classifier that knows all the others.
    """
    return bool(unseen.any() and (empty - prompted)[unseen].mean() > 0)
