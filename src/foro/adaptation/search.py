"""The search for a candidate on one task, what it may cost, and the check that it helps what it has not seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foro.adaptation.evolution import Distribution, Evolution, Space
from foro.features.candidate import Candidate
from foro.features.sample import Judge
from foro.types import Float64, Label
from foro.util.progress import progress_bar

FEWEST_CLASSES = 4
"""Two to search on and two to check on."""

FEWEST_IMAGES = 64
"""Fewer images to search on would be fitted by heart."""

FEWEST_GENERATIONS = 3
"""Below this a search has hardly begun."""

DOUBT = 3.0
"""Standard errors that a gain must exceed: it is the best of several, and features that were learned with a wrong
candidate cannot be made again."""


@dataclass(frozen=True)
class Plan:
    """What a search may cost: images that candidates are compared on, as many to check on, and generations."""

    images: int
    generations: int

    def passes(self, population: int) -> int:
        """Forward passes: of every candidate, and for each check and without any candidate those of both halves."""
        return self.images * (self.generations * (population + 2) + 2)


def plan(passes: float, population: int, most_images: int, most_generations: int) -> Plan | None:
    """The search for a number of forward passes; None where they are too few for one.

    Fewer generations come first, then fewer images: few images mislead, however long they are searched on.
    """
    fewest = min(FEWEST_GENERATIONS, most_generations)
    images = int(min(most_images, passes / Plan(1, fewest).passes(population)))
    if images < min(FEWEST_IMAGES, most_images):
        return None
    return Plan(images, int(min(most_generations, (passes / images - 2) / (population + 2))))


@dataclass(frozen=True)
class Verdict:
    """The gain in few-shot cross-entropy on images that the search did not see, and its standard error."""

    gain: float
    error: float

    @classmethod
    def of(cls, before: Float64, after: Float64) -> Verdict:
        """From the errors (n,) of the same samples without and with the candidate."""
        gains = before - after
        error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.inf
        return cls(float(gains.mean()), error)

    @property
    def kept(self) -> bool:
        """Whether the candidate is better beyond doubt: by more than ``DOUBT`` standard errors."""
        return self.gain > DOUBT * self.error

    def __str__(self) -> str:
        found = f"cross-entropy {-self.gain:+.3f} ± {self.error:.3f} on images that the search did not see"
        return f"adapted: {found}" if self.kept else f"not adapted: {found}"


Check = Callable[[Candidate], Verdict]
"""What a candidate gains on images that the search does not see."""


@dataclass(frozen=True)
class Found:
    """Where a search ended: the mean of a distribution, which needs no luck, and the best candidate of all.

    The distribution is the last one, or the one whose mean passed the check best.
    """

    distribution: Distribution
    best: Candidate
    fitness: float  # of the best candidate
    generations: int
    verdict: Verdict | None = None


def search(
    judge: Judge,
    space: Space,
    evolution: Evolution,
    generations: int,
    patience: int,
    seconds: float | None = None,
    check: Check | None = None,
) -> Found:
    """Evolves a candidate on one fixed sample: every candidate is judged on the same images.

    It ends when nothing got better for some generations: by the check, where there is one, else by the fitness.
    """
    end = np.inf if seconds is None else time.monotonic() + seconds
    best, fitness = evolution.distribution.mean, np.inf
    kept: Distribution = evolution.distribution
    verdict: Verdict | None = None
    done, since = 0, 0
    with progress_bar("adapting", generations, "generations") as advance:
        while done < generations and since < patience and time.monotonic() < end:
            vectors = evolution.ask()
            values = judge([space.candidate(each) for each in vectors])
            evolution.tell(values)
            better = min(values) < fitness
            if better:
                best, fitness = vectors[int(np.argmin(values))], min(values)
            last, checked = evolution.distribution, None
            if check is not None:
                checked = check(space.candidate(last.mean))
                better = verdict is None or checked.gain > verdict.gain
            if check is None or better:
                kept, verdict = last, checked
            done, since = done + 1, 0 if better else since + 1
            advance(1)
    return Found(kept, space.candidate(best), float(fitness), done, verdict)


def hold_classes_out(labels: Sequence[Label], generator: np.random.Generator) -> set[Label]:
    """A third of the classes, at least two: those that a search does not see and its result is checked on."""
    classes = list(dict.fromkeys(labels))
    held = max(2, round(len(classes) / 3))
    return {classes[number] for number in generator.permutation(len(classes))[:held]}


def positions_of(labels: Sequence[Label], classes: set[Label]) -> NDArray[np.intp]:
    """Positions of the samples of some classes."""
    return np.flatnonzero([label in classes for label in labels])
