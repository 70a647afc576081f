"""Teaching a model file: images that cannot be read are told apart, and what was learned is added up."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from foro.config import CHUNK, HELD_OUT
from foro.durable import MOST_JOURNAL, DurableLearner
from foro.errors import DataError, FoRoError, FoRoWarning, InputError, counted
from foro.images.labelled import read_labelled, stream_labelled
from foro.images.look import Crops, look, name_of
from foro.images.samples import Samples
from foro.images.unreadable import UnreadableImage, without, without_unreadable
from foro.known import SortedOut, sort_out
from foro.labels import check_labels, lookalikes, same_labels
from foro.learner import Learner
from foro.preparation import OtherLabel
from foro.types import Label
from foro.verbs.cost import Cost, expected_cost

STREAM = "-"
STDIN = "the standard input"

MANY = 64
"""Images from which on it is worth a few passes to find out what a lesson will cost."""


@dataclass(frozen=True)
class Taught:
    """What was learned by one command."""

    samples: int = 0
    labels: tuple[Label, ...] = ()
    new_labels: tuple[Label, ...] = ()
    seconds: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)  # of the seconds: reading, adaptation, features, …
    held_out: int = 0
    right_before: float | None = None  # of the held-out images, where anything was known before
    right_after: float | None = None
    expected_accuracy: float | None = None  # on new images of all classes, from samples that were left out
    known: int = 0  # images that were learned before with the same label, and not again
    other_label: tuple[OtherLabel, ...] = ()  # images that were learned before with another label, and left so
    relabelled: int = 0  # images that have another label now
    skipped: tuple[UnreadableImage, ...] = ()
    passed_over: tuple[Path, ...] = ()  # files that are no images
    notes: tuple[str, ...] = ()

    @property
    def accuracy_before(self) -> float | None:
        return None if self.right_before is None else self.right_before / self.held_out

    @property
    def accuracy_after(self) -> float | None:
        return None if self.right_after is None else self.right_after / self.held_out

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "samples": self.samples,
            "labels": list(self.labels),
            "new_labels": list(self.new_labels),
            "seconds": self.seconds,
            "parts": dict(self.parts),
            "images_per_second": self.samples / self.seconds if self.seconds else None,
            "held_out": self.held_out,
            "accuracy_before": self.accuracy_before,
            "accuracy_after": self.accuracy_after,
            "expected_accuracy": self.expected_accuracy,
            "known": self.known,
            "other_label": _told(self.other_label),
            "relabelled": self.relabelled,
            "skipped": [{"image": each.image, "reason": each.reason} for each in self.skipped],
            "passed_over": [str(path) for path in self.passed_over],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Plan:
    """What ``teach`` would learn, and what it would say."""

    counts: Mapping[Label, int] = field(default_factory=dict)  # images of each label that would be learned
    new_labels: tuple[Label, ...] = ()
    known: int = 0  # images that were learned before with the same label, and would not be again
    other_label: tuple[OtherLabel, ...] = ()  # images that were learned before with another label, and would stay so
    relabelled: int = 0  # images that would get another label
    skipped: tuple[UnreadableImage, ...] = ()
    passed_over: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "samples": sum(self.counts.values()),
            "classes": [{"label": label, "samples": count} for label, count in self.counts.items()],
            "new_labels": list(self.new_labels),
            "known": self.known,
            "other_label": _told(self.other_label),
            "relabelled": self.relabelled,
            "skipped": [{"image": each.image, "reason": each.reason} for each in self.skipped],
            "passed_over": [str(path) for path in self.passed_over],
            "notes": list(self.notes),
        }


def _told(images: Iterable[OtherLabel]) -> list[dict[str, Any]]:
    return [{"image": each.image, "label": each.label, "known_as": each.known_as} for each in images]


def plan(
    data: str | os.PathLike[str],
    learner: Learner | None = None,
    *,
    strict: bool = False,
    again: bool = False,
    relabel: bool = False,
) -> Plan:
    """What would be learned from a folder, a file or a stream by a learner, or by a new model; learns nothing."""
    parts = [read_labelled(data)] if os.fspath(data) != STREAM else stream_labelled(_stdin(), STDIN, CHUNK)
    taught = [] if learner is None else [*learner.labels, *learner.head.forgotten]
    known = None if learner is None or again or not learner.remembers else deepcopy(learner.known)
    planned = Plan()
    counts: Counter[Label] = Counter()
    given: list[Label] = []  # labels of images that have another one now
    for samples in parts:
        good, bad = _looked_at(samples, learner, strict)
        names = same_labels(check_labels(good.labels), [*taught, *counts])
        found = SortedOut(new=list(range(len(names))))
        if known is not None and isinstance(good.images, Crops):
            digests = good.images.digests
            found = sort_out(known, digests, names, relabel)
            known.add(digests[found.new], [names[each] for each in found.new])
        counts.update(names[each] for each in found.new)
        given += [names[each] for each in found.moved]
        other = (
            OtherLabel(each, name_of(good.images, each), names[each], before) for each, before in found.other.items()
        )
        planned = replace(
            planned,
            known=planned.known + len(found.known),
            other_label=(*planned.other_label, *other),
            relabelled=planned.relabelled + len(found.moved),
            skipped=(*planned.skipped, *bad),
            passed_over=(*planned.passed_over, *samples.passed_over),
            notes=(*planned.notes, *samples.notes),
        )
    new = tuple(label for label in dict.fromkeys([*counts, *given]) if label not in set(taught))
    return replace(planned, counts=dict(counts), new_labels=new, notes=planned.notes + _slips(new, taught))


def _looked_at(samples: Samples, learner: Learner | None, strict: bool) -> tuple[Samples, Sequence[UnreadableImage]]:
    """The samples that can be read, as the learner would see them, and the others; with ``strict`` those are errors."""
    if learner is not None:
        images, bad = look(samples.images, learner.backbone.preprocessing, strict)
        return replace(without(samples, bad), images=images), bad
    good, bad = without_unreadable(samples)
    if strict and bad:
        raise InputError(bad[0].reason)
    return good, bad


def _slips(new: Sequence[Label], known: Sequence[Label]) -> tuple[str, ...]:
    return tuple(
        f"{label!r} is a new label and much like {meant!r}: if that is a slip, foro rename makes them one"
        for label, meant in lookalikes(new, known)
    )


def teach(
    model: DurableLearner,
    data: str | os.PathLike[str],
    *,
    strict: bool = False,
    held_out: float = HELD_OUT,
    chunk: int = CHUNK,
    again: bool = False,
    relabel: bool = False,
    lines: Iterable[str | bytes] | None = None,
    announce: Callable[[Cost], None] | None = None,
) -> Taught:
    """Learns what a folder or a file holds, all or nothing; ``-`` learns a stream of JSON lines, a chunk at a time.

    Images that were learned before are not learned again, unless ``again`` asks for it; those that were learned with
    another label keep it, or with ``relabel`` get the new one.

    Images that cannot be read are left out and listed, or with ``strict`` end it before anything is learned. The share
    ``held_out`` of the images measures the accuracy before and after the rest is learned, and is then learned too.
    ``announce`` is told what many images will cost, before that begins; not of a stream, whose end is not known.
    """
    start = time.perf_counter()
    how = {"held_out": held_out, "again": again, "relabel": relabel}
    if os.fspath(data) != STREAM:
        samples = read_labelled(data)
        if announce is not None and model.learner.engine is None and len(samples) >= MANY:
            announce(expected_cost(model.learner, samples.labels))
        taught = _taught(model, samples, strict, how, whole=True)
    else:
        taught = _stream(model, _stdin() if lines is None else lines, strict, chunk, how)
    expected = model.learner.head.estimate().accuracy
    seconds = time.perf_counter() - start
    parts = {**taught.parts, "classifier": seconds - sum(taught.parts.values())}
    return replace(taught, seconds=seconds, parts=parts, expected_accuracy=expected)


def unteach(model: DurableLearner, data: str | os.PathLike[str], *, strict: bool = False) -> Taught:
    """Takes the influence of what a folder or a file holds back, exactly, all or nothing."""
    start = time.perf_counter()
    samples, skipped = _readable(model.learner, read_labelled(data), strict)
    if not len(samples):
        raise _unreadable(skipped)
    model.unlearn(samples.images, samples.labels)
    labels = tuple(samples.positions)
    seconds, passed_over = time.perf_counter() - start, samples.passed_over
    return Taught(len(samples), labels, seconds=seconds, skipped=skipped, passed_over=passed_over, notes=samples.notes)


def _readable(learner: Learner, samples: Samples, strict: bool) -> tuple[Samples, tuple[UnreadableImage, ...]]:
    """The samples that can be read, and those that cannot; with ``strict`` all, and the first bad one is an error."""
    if learner.engine is None:
        images, bad = look(samples.images, learner.backbone.preprocessing, strict)
        return replace(without(samples, bad), images=images), tuple(bad)
    if strict:
        return samples, ()
    good, bad = learner.engine.without_unreadable(samples)
    return good, tuple(bad)


def _taught(model: DurableLearner, samples: Samples, strict: bool, how: dict[str, Any], whole: bool = False) -> Taught:
    """Learns the samples that can be read; of a ``whole`` lesson there must be some."""
    start = time.perf_counter()
    good, skipped = _readable(model.learner, samples, strict)
    reading = time.perf_counter() - start
    if whole and not len(good):
        raise _unreadable(skipped)
    taught = _learn(model, good, skipped, how) if len(good) else Taught(skipped=skipped)
    return replace(taught, parts={"reading": reading, **taught.parts})


def _unreadable(skipped: tuple[UnreadableImage, ...]) -> InputError:
    if len(skipped) == 1:
        return InputError(skipped[0].reason)
    return InputError(f"none of the {len(skipped)} images can be read, the first because {skipped[0].reason}")


DECIDED = "the first lesson of a model decides that: for another decision, teach a new model"
"""What to do about a verdict on an adaptation."""


def _learn(model: DurableLearner, good: Samples, skipped: tuple[UnreadableImage, ...], how: dict[str, Any]) -> Taught:
    known = model.learner.labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoRoWarning)  # the report has the note too
        report = model.learn(good.images, good.labels, **how)
    before, after = report.accuracy_before, report.accuracy_after
    adapted = None if report.adaptation is None else f"{report.adaptation}; {DECIDED}"
    return Taught(
        samples=report.samples,
        labels=report.labels,
        new_labels=report.new_labels,
        parts={"adaptation": report.adaptation_seconds, "features": report.feature_seconds},
        known=report.known,
        other_label=report.other_label,
        relabelled=report.relabelled,
        held_out=report.held_out,
        right_before=None if before is None else before * report.held_out,
        right_after=None if after is None else after * report.held_out,
        skipped=skipped,
        passed_over=good.passed_over,
        notes=(*filter(None, (report.note, adapted)), *good.notes, *_slips(report.new_labels, known)),
    )


def _stream(
    model: DurableLearner, lines: Iterable[str | bytes], strict: bool, chunk: int, how: dict[str, Any]
) -> Taught:
    taught = Taught()
    try:
        for samples in stream_labelled(lines, STDIN, chunk):
            taught = _added(taught, _taught(model, samples, strict, how))
            if model.journal_bytes > MOST_JOURNAL:
                model.save()
    except FoRoError as error:
        if taught.samples:
            model.save()
            raise DataError(f"{error}; {counted(taught.samples, 'image')} of earlier lines are learned") from None
        raise
    if not (taught.samples or taught.known or taught.other_label or taught.relabelled):
        raise _unreadable(taught.skipped) if taught.skipped else DataError(f"{STDIN} names no images")
    return taught


def _stdin() -> Iterable[str | bytes]:
    """The standard input as bytes, which are UTF-8 whatever the terminal has."""
    lines: Iterable[str | bytes] = getattr(sys.stdin, "buffer", sys.stdin)
    return lines


def _added(one: Taught, other: Taught) -> Taught:
    def total(name: str) -> float | None:
        values = [value for each in (one, other) if (value := getattr(each, name)) is not None]
        return sum(values) if values else None

    return Taught(
        samples=one.samples + other.samples,
        labels=tuple(dict.fromkeys(one.labels + other.labels)),
        new_labels=tuple(dict.fromkeys(one.new_labels + other.new_labels)),
        parts={name: one.parts.get(name, 0) + other.parts.get(name, 0) for name in {**one.parts, **other.parts}},
        held_out=one.held_out + other.held_out,
        known=one.known + other.known,
        other_label=one.other_label + other.other_label,
        relabelled=one.relabelled + other.relabelled,
        right_before=total("right_before"),
        right_after=total("right_after"),
        skipped=one.skipped + other.skipped,
        passed_over=one.passed_over + other.passed_over,
        notes=tuple(dict.fromkeys(one.notes + other.notes)),
    )
