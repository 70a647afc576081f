"""The first half of learn, unlearn and merge: everything that may fail or takes time, and changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from foro.adaptation.adaptation import TaskAdaptation
from foro.changes import Corrected, Learn, Merge, Unlearn
from foro.engine import RemoteExtractor
from foro.errors import InputError, NeverLearnedError, counted
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.heads.head import Gathered, gather
from foro.images.load import Images, check_images
from foro.images.look import Crops, look, name_of
from foro.images.samples import choose_held_out
from foro.images.task_images import TaskImages
from foro.known import SortedOut, sort_out
from foro.types import Float32, Label
from foro.util.progress import progress_of

if TYPE_CHECKING:
    from foro.learner import Learner

Keep = Callable[[Float32, list[Label]], None]
"""Is given features (b, d) as they are made, and their labels."""


@dataclass(frozen=True)
class OtherLabel:
    """An image that was learned before with the label ``known_as``, and came with another one."""

    position: int
    image: str
    label: Label
    known_as: Label


@dataclass(frozen=True)
class LearnReport:
    """What one ``learn`` did; accuracies are None where nothing was held out, or none of its labels was known."""

    samples: int  # images that were new
    labels: tuple[Label, ...]  # of all that was learned
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
    known: int = 0  # images that were learned before with the same label, and not again
    known_at: tuple[int, ...] = ()  # positions of these
    other_label: tuple[OtherLabel, ...] = ()  # images that were left with the label that they had
    relabelled: int = 0  # images that have another label now

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; ``from_dict`` makes a report of it again."""
        lists = {name: list(getattr(self, name)) for name in ("labels", "new_labels", "known_at")}
        return {**asdict(self), **lists}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LearnReport:
        """The report that ``as_dict`` wrote down."""
        other = tuple(OtherLabel(**each) for each in content["other_label"])
        tuples = {name: tuple(content.get(name, ())) for name in ("labels", "new_labels", "known_at")}
        return cls(**{**content, **tuples, "other_label": other})


def prepare_learn(
    learner: Learner,
    images: Images,
    labels: Sequence[Label],
    held_out: float,
    keep: Keep | None,
    again: bool,
    relabel: bool,
) -> tuple[Learn | None, LearnReport]:
    """Adapts to the task where that is due, makes all features, and measures what is held out.

    There is no change where no image is new.
    """
    start = time.perf_counter()
    images, names = check_images(images), learner.head.known_as(labels)
    if len(names) != len(images):
        raise InputError(f"{len(images)} images came with {len(names)} labels")
    if not names:
        raise InputError("there is no image to learn from")
    if not 0 <= held_out < 1:
        raise InputError(f"held_out is a share of the images between 0 and 1, not {held_out}")
    if again and relabel:
        raise InputError("images that are known are learned again or relabelled, not both")
    given = images
    if learner.engine is None and not isinstance(images, TaskImages):  # those may be in a cache
        images, _ = look(images, learner.backbone.preprocessing)
    digests, found = None, SortedOut(new=list(range(len(names))))
    if learner.remembers:
        digests = learner.digests(images)
        if not again:
            found = sort_out(learner.known, digests, names, relabel)
    report = LearnReport(
        samples=len(found.new),
        labels=tuple(dict.fromkeys(names[each] for each in (*found.new, *found.moved))),
        new_labels=(),
        generations=0,
        forward_passes=0,
        seconds=time.perf_counter() - start,
        known=len(found.known),
        known_at=tuple(found.known),
        other_label=tuple(
            OtherLabel(each, name_of(given, each), names[each], known_as) for each, known_as in found.other.items()
        ),
        relabelled=len(found.moved),
    )
    if not report.labels:
        return None, report
    if found.moved and learner.config.policy == "evolve":
        raise InputError("relabelling needs policy none or freeze: with evolve, old features cannot be made again")
    generator = np.random.default_rng([learner.seed, learner.adaptation.tasks, 1])
    tested: list[int] = []
    if held_out and found.new:
        chosen = choose_held_out([names[each] for each in found.new], held_out, generator)
        tested = [found.new[each] for each in chosen]
    aside = set(tested)
    task = [each for each in found.new if each not in aside]
    measured, accuracy, corrected = None, None, None
    with learner.opened() as extractor:
        adapting = TaskAdaptation(
            extractor, learner.readout, learner.head.projection, learner.config, learner.adaptation, learner.seed
        )
        if learner.config.online:  # a batch of one class says nothing of the others
            task = [task[each] for each in adapting.generator.permutation(len(task))]
        chosen_images, chosen_names = _taken(images, names, task)
        adapted = time.perf_counter()
        if task:
            adapting.prepare(chosen_images, chosen_names)
        embedding = time.perf_counter()
        samples = _gathered(learner, adapting, extractor, chosen_images, chosen_names, keep)
        candidate = adapting.adaptation.candidate
        if tested:
            measured, accuracy = _hold_out(learner, *_taken(images, names, tested), extractor, candidate, keep)
        if found.moved:
            moved, given_names = _taken(images, names, [*found.moved])
            features = np.concatenate(list(extractor.features(moved, learner.readout, candidate)))
            before = [(row, label) for row, labels in enumerate(found.moved.values()) for label in labels]
            corrected = Corrected(features, given_names, before)
        ended = time.perf_counter()
    learned = [*task, *tested, *found.moved]
    change = Learn(
        samples, adapting.adaptation, measured, corrected, None if digests is None else digests[np.array(learned)]
    )
    known = set(learner.labels)
    return change, replace(
        report,
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


def prepare_unlearn(learner: Learner, images: Images, labels: Sequence[Label]) -> Unlearn:
    """Makes the features of images again; one that was never learned with its label is named."""
    images, names = check_images(images), learner.head.known_as(labels)
    if len(names) != len(images):
        raise InputError(f"{len(images)} images came with {len(names)} labels")
    if learner.config.policy == "evolve":
        raise InputError("unlearning needs policy none or freeze: with evolve, old features cannot be made again")
    called, digests = [name_of(images, each) for each in range(len(images))], None
    crops, _ = look(images, learner.backbone.preprocessing)
    if learner.remembers:
        digests = crops.digests
        if learner.knows_all:
            kept, never = learner.known.sort_unlearned(digests, names)
            if never:
                raise NeverLearnedError(never, called)
            digests, called = digests[kept], [called[each] for each in kept]
            crops, names = crops.take(kept), [names[each] for each in kept]
    return Unlearn(learner.features(crops), names, digests, images=called)


def prepare_merge(learner: Learner, other: Learner, again: bool) -> Merge | None:
    """Adds what another has learned; statistics of images that both have learned cannot be told apart.

    Exact without images of both, or where one has everything that the other has.
    """
    other.check()
    if difference := learner.difference(other):
        raise InputError(f"these learners cannot be merged: their {difference} differ")
    shared = 0 if again else learner.known.shared(other.known)
    if not shared:
        return Merge(other.head, other.adaptation, other.known)
    if other.knows_all and learner.known.covers(other.known):
        return None
    if learner.knows_all and not learner.head.forgotten and other.known.covers(learner.known):
        return Merge(other.head, other.adaptation, other.known, whole=True)
    raise InputError(
        f"both have learned {counted(shared, 'image')}, which would count twice in one model: unlearn "
        f"{'it' if shared == 1 else 'them'} from one of the two, or ask for twice the weight (again)"
    )


def _gathered(
    learner: Learner,
    adapting: TaskAdaptation,
    extractor: Extractor,
    images: Images,
    names: list[Label],
    keep: Keep | None,
) -> Gathered:
    """The samples of a task, with the features that it was adapted to."""
    if not names:  # there are corrections only
        return Gathered([], None)
    if isinstance(extractor, RemoteExtractor):
        return Gathered(names, None, extractor.learned(images, names, adapting.adaptation.candidate))
    batches = progress_of(adapting.features(images, names), len(names), "learning")
    return gather(learner.head, _kept(batches, names, keep), names)


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
    """The images and labels at some positions; images as they are where all are taken, for they may be in a cache."""
    if positions == list(range(len(names))):
        return images, names
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
