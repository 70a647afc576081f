"""Which images are likely labelled wrong, which classes are confused, which images are copies, what to add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError
from foro.evaluation.doubts import Doubts, gain_of_more
from foro.heads.head import LeftOut
from foro.images.digests import Digests
from foro.images.look import look
from foro.images.samples import Samples
from foro.images.unreadable import UnreadableImage, image_name, without
from foro.learner import Learner
from foro.types import Float64, Label

LEAST_DOUBT = 0.1
"""Chance of being wrong from which a label is doubted."""
LIKELY = 0.5
MORE = 20
MOST_PAIRS = 10
LEAST_CONFUSED = 0.5
"""Images that are expected to be taken for another class, from which two classes are called confusable."""


@dataclass(frozen=True)
class Doubt:
    """An image whose label is doubted: the chance that it is wrong, and the likeliest other one with its chance."""

    image: str
    position: int
    label: Label
    wrong: float
    suggested: Label
    sure: float
    learned: Label | None  # the label with which it was learned; None: it is new to the model


@dataclass(frozen=True)
class Confusable:
    """Two classes, and how many of their images are expected to be taken for the other of the two."""

    first: Label
    second: Label
    images: int
    confused: float


@dataclass(frozen=True)
class Copies:
    """Two images that are one, resized or encoded anew, or of the very same pixels."""

    image: str
    position: int
    label: Label
    other: str
    other_position: int
    other_label: Label
    same: bool


@dataclass(frozen=True)
class Need:
    """A class with how many images were learned, the expected share of mistakes, and that with so many more images."""

    label: Label
    learned: int
    mistakes: float
    mistakes_after: float


@dataclass(frozen=True, eq=False)
class Review:
    """What a model says of labelled images as if it had learned none of them."""

    samples: Samples
    learned: int
    noise: float
    doubts: list[Doubt]
    confusable: list[Confusable]
    copies: list[Copies]
    needs: list[Need]
    alone: dict[Label, int]  # labels of images that could not be judged: nothing else of the class was learned
    skipped: tuple[UnreadableImage, ...] = ()

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def likely_wrong(self) -> int:
        """How many labels are more likely wrong than right."""
        return sum(each.wrong >= LIKELY for each in self.doubts)

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "images": len(self),
            "learned": self.learned,
            "wrong_share": self.noise,
            "likely_wrong": self.likely_wrong,
            "doubts": [asdict(each) for each in self.doubts],
            "confusable": [asdict(each) for each in self.confusable],
            "copies": [asdict(each) for each in self.copies],
            "needs": [asdict(each) for each in self.needs],
            "not_judged": {str(label): count for label, count in self.alone.items()},
            "skipped": [each.reason for each in self.skipped],
        }


def review(learner: Learner, samples: Samples, strict: bool = False) -> Review:
    """Judges the label of every image: one that was learned as if neither it nor a copy of it had been.

    Images that cannot be read are left out and listed, or with ``strict`` the first one is an error.
    """
    if len(learner.labels) < 2:
        raise InputError("a model needs two classes to doubt a label")
    images, skipped = look(samples.images, learner.backbone.preprocessing, strict)
    good = without(samples, skipped)
    if not len(good):
        raise InputError(f"there is no image to review{f': {skipped[0].reason}' if skipped else ''}")
    head = learner.head
    learned = learner.known.labels_of(images.digests)
    first = _first(images.digests)
    left = head.left_out(
        learner.features(images), [names if first[row] == row else [] for row, names in enumerate(learned)]
    )
    given = head.known_as(good.labels)
    good = Samples(good.images, given)
    numbers, counts = {label: number for number, label in enumerate(head.labels)}, head.counts
    can_be = [label in numbers and counts[label] > left.copies[row, numbers[label]] for row, label in enumerate(given)]
    judged = np.flatnonzero(can_be).tolist()
    if not judged:
        raise InputError("no label can be judged: of none of them has the model learned another image")
    alone = Counter(label for label, judgeable in zip(given, can_be, strict=True) if not judgeable)
    found = Doubts.fit(
        np.array([numbers[given[row]] for row in judged], dtype=np.int64),
        left.scores[judged],
        None if left.distances is None else left.distances[judged],
    )
    return Review(
        good,
        sum(map(bool, learned)),
        found.noise,
        _doubts(found, judged, good, head.labels, learned),
        _confusable(found, head.labels),
        _copies(left, good, first),
        _needs(found, head.labels, counts, set(found.given.tolist()), MORE),
        dict(alone),
        tuple(skipped),
    )


def review_kept(
    labels: Sequence[Label], counts: dict[Label, int], kept: tuple[Float64, NDArray[np.int64]], more: int
) -> tuple[list[Confusable], list[Need]]:
    """Classes that are confused, and what so many more images of each would gain, as a head's ``kept_scores`` say."""
    scores, classes = kept
    if len(labels) < 2 or not len(classes):
        return [], []
    found = Doubts.fit(classes, scores, None)
    return _confusable(found, labels), _needs(found, labels, counts, range(len(labels)), more)


def _first(digests: Digests) -> list[int]:
    """For each image the first one with the same pixels."""
    seen: dict[bytes, int] = {}
    return [seen.setdefault(digest.tobytes(), row) for row, digest in enumerate(digests)]


def _doubts(
    found: Doubts, judged: list[int], samples: Samples, labels: list[Label], learned: list[list[Label]]
) -> list[Doubt]:
    wrong, suggested = found.wrong, found.suggested
    return [
        Doubt(
            image_name(samples.images[judged[each]], judged[each]),
            judged[each],
            samples.labels[judged[each]],
            float(wrong[each]),
            labels[suggested[each]],
            float(found.chances[each, suggested[each]]),
            learned[judged[each]][0] if learned[judged[each]] else None,
        )
        for each in found.order.tolist()
        if wrong[each] >= LEAST_DOUBT
    ]


def _confusable(found: Doubts, labels: Sequence[Label]) -> list[Confusable]:
    confusions, images = found.confusions(), np.bincount(found.given, minlength=len(labels))
    both = np.triu(confusions + confusions.T)
    pairs = np.dstack(np.unravel_index(np.argsort(-both, axis=None, kind="stable")[:MOST_PAIRS], both.shape))[0]
    return [
        Confusable(labels[one], labels[other], int(images[one] + images[other]), float(both[one, other]))
        for one, other in pairs.tolist()
        if both[one, other] >= LEAST_CONFUSED
    ]


def _copies(left: LeftOut, samples: Samples, first: list[int]) -> list[Copies]:
    """Pairs of copies, those with different labels first."""
    pairs = sorted({(min(row, other), max(row, other)) for row, group in enumerate(left.groups) for other in group})
    names, labels = [image_name(image, row) for row, image in enumerate(samples.images)], samples.labels
    found = [
        Copies(names[one], one, labels[one], names[other], other, labels[other], first[one] == first[other])
        for one, other in pairs
        if one != other
    ]
    return sorted(found, key=lambda each: each.label == each.other_label)


def _needs(
    found: Doubts, labels: Sequence[Label], counts: dict[Label, int], numbers: Container[int], more: int
) -> list[Need]:
    """The classes of these numbers, by what so many more images would gain, most first."""
    mistakes, images = found.mistakes(), np.array([counts[label] for label in labels])
    gains = gain_of_more(mistakes, images, more)
    return [
        Need(labels[each], int(images[each]), float(mistakes[each]), float(mistakes[each] - gains[each]))
        for each in np.argsort(-gains, kind="stable").tolist()
        if each in numbers
    ]
