"""The first half of ``learn``: everything that may fail or takes time, and changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foro.adaptation.adaptation import TaskAdaptation
from foro.changes import Learn
from foro.engine import RemoteExtractor
from foro.errors import InputError
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.heads.head import Gathered, gather
from foro.images.load import Images, check_images
from foro.images.look import Crops, look
from foro.images.samples import choose_held_out
from foro.images.task_images import TaskImages
from foro.types import Float32, Label
from foro.util.progress import progress_of

if TYPE_CHECKING:
    from foro.learner import Learner

Keep = Callable[[Float32, list[Label]], None]
"""Is given features (b, d) as they are made, and their labels."""


@dataclass(frozen=True)
class LearnReport:
    """What one ``learn`` did; accuracies are None where nothing was held out, or none of its labels was known."""

    samples: int
    new_labels: tuple[Label, ...]
    generations: int
    forward_passes: int  # sequences that went through the backbone, every candidate's
    seconds: float
    note: str | None = None  # why features stay as they are, where they were to be adapted
    adaptation: str | None = None  # what a search found, and whether it was kept
    held_out: int = 0  # images on which the accuracy was measured, and which were then learned too
    accuracy_before: float | None = None
    accuracy_after: float | None = None
    feature_seconds: float = 0.0  # of ``seconds``, for the passes of the images
    adaptation_seconds: float = 0.0  # of ``seconds``, for the search

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; ``from_dict`` makes a report of it again."""
        return {**asdict(self), "new_labels": list(self.new_labels)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LearnReport:
        """The report that ``as_dict`` wrote down."""
        return cls(**{**content, "new_labels": tuple(content["new_labels"])})


def prepare_learn(
    learner: Learner, images: Images, labels: Sequence[Label], held_out: float, keep: Keep | None
) -> tuple[Learn, LearnReport]:
    """Adapts to the task where that is due, makes all features, and measures what is held out."""
    start = time.perf_counter()
    images, names = check_images(images), learner.head.known_as(labels)
    if len(names) != len(images):
        raise InputError(f"{len(images)} images came with {len(names)} labels")
    if not names:
        raise InputError("there is no image to learn from")
    if not 0 <= held_out < 1:
        raise InputError(f"held_out is a share of the images between 0 and 1, not {held_out}")
    if learner.engine is None and not isinstance(images, TaskImages):  # those may be in a cache
        images, _ = look(images, learner.backbone.preprocessing)
    generator = np.random.default_rng([learner.seed, learner.adaptation.tasks, 1])
    tested = choose_held_out(names, held_out, generator) if held_out else []
    task, labelled = images, names
    if tested:
        aside = set(tested)
        task, labelled = _taken(images, names, [each for each in range(len(names)) if each not in aside])
    measured, accuracy = None, None
    with learner.opened() as extractor:
        adapting = TaskAdaptation(
            extractor, learner.readout, learner.head.projection, learner.config, learner.adaptation, learner.seed
        )
        if learner.config.online:  # a batch of one class says nothing of the others
            task, labelled = _taken(task, labelled, adapting.generator.permutation(len(labelled)).tolist())
        adapted = time.perf_counter()
        adapting.prepare(task, labelled)
        embedding = time.perf_counter()
        if isinstance(extractor, RemoteExtractor):
            samples = Gathered(labelled, None, extractor.learned(task, labelled, adapting.adaptation.candidate))
        else:
            batches = progress_of(adapting.features(task, labelled), len(labelled), "learning")
            samples = gather(learner.head, _kept(batches, labelled, keep), labelled)
        if tested:
            candidate = adapting.adaptation.candidate
            measured, accuracy = _hold_out(learner, *_taken(images, names, tested), extractor, candidate, keep)
        ended = time.perf_counter()
    change = Learn(samples, adapting.adaptation, measured)
    known = set(learner.labels)
    report = LearnReport(
        samples=len(names),
        new_labels=tuple(label for label in dict.fromkeys(change.labels) if label not in known),
        generations=adapting.generations,
        forward_passes=extractor.forward_passes,
        seconds=time.perf_counter() - start,
        note=adapting.note,
        adaptation=None if adapting.verdict is None else str(adapting.verdict),
        held_out=len(tested),
        accuracy_before=accuracy,
        feature_seconds=ended - embedding,
        adaptation_seconds=embedding - adapted,
    )
    return change, report


def _hold_out(
    learner: Learner,
    images: Images,
    names: list[Label],
    extractor: Extractor,
    candidate: Candidate,
    keep: Keep | None,
) -> tuple[Gathered, float | None]:
    """Features of held-out images, and the accuracy of the learner as it is on them."""
    batches = progress_of(extractor.features(images, learner.readout, candidate), len(images), "measuring")
    samples = gather(learner.head, _kept(batches, names, keep), names)
    known = candidate is learner.candidate or not learner.labels
    return samples, learner.accuracy_on(samples if known else Gathered(names, learner.features(images)))


def _taken(images: Images, names: list[Label], positions: list[int]) -> tuple[Images, list[Label]]:
    """The images and labels at some positions."""
    taken = images.take(positions) if isinstance(images, Crops) else [images[position] for position in positions]
    return taken, [names[position] for position in positions]


def _kept(batches: Iterable[Float32], names: list[Label], keep: Keep | None) -> Iterator[Float32]:
    """The batches as they are; ``keep`` sees each of them, with its labels."""
    start = 0
    for features in batches:
        if keep is not None:
            keep(features, names[start : start + len(features)])
        start += len(features)
        yield features
