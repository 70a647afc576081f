"""A model that a client sent: read with suspicion, and merged with a blank twin before it may touch our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foro.errors import FoRoError
from foro.files import read_model
from foro.labels import check_labels
from foro.learner import Learner
from foro.serve.problems import Problem

LONGEST_HEADER = 16 * 2**20
"""Bytes of its description, which takes many times as much memory; the numbers themselves are only mapped."""


def read_other(path: Path, mine: Learner) -> Learner:
    """The learner of an uploaded file, if it is whole and can be merged with mine."""
    try:
        with open(path, "rb") as file:
            if int.from_bytes(file.read(8), "little") > LONGEST_HEADER:
                raise ValueError("the header is too long")
        arrays, metadata = read_model(path)
        fingerprint = metadata["backbone"]["fingerprint"]
        if fingerprint != mine.backbone.fingerprint:
            raise _unfit("backbones")
        if metadata["backbone"]["image_size"] != mine.backbone.image_size:
            raise _unfit("image sizes")
        if not all(np.isfinite(array).all() for array in arrays.values() if array.dtype.kind == "f"):
            raise ValueError("a number is not finite")
        other = Learner.from_state(arrays, metadata, "the uploaded file", mine.backbone)
        every = [*other.head.counts, *other.head.forgotten]
        if check_labels(every) != every:
            raise ValueError("a label is not written as ours are")
        if min(other.head.counts.values(), default=0) < 0 or not 0 <= other.head.samples < 2**53:
            raise ValueError("a count is negative")
    except Problem:
        raise
    except FoRoError as error:
        detail = str(error).replace(str(path), "the uploaded file")
        raise Problem(422, "unreadable-model", detail) from None
    except (Exception, MemoryError):
        raise Problem(422, "unreadable-model", "the uploaded file is not a model of FoRo, or is damaged") from None
    _try(mine, other)
    return other


def _try(mine: Learner, other: Learner) -> None:
    """Merges it with a blank twin of ours, twice: whatever does not fit shows there."""
    try:
        twin = mine.blank()
        twin.merge(other)
    except FoRoError as error:
        raise Problem(409, "cannot-be-merged", str(error)) from None
    except Exception:
        raise Problem(422, "unreadable-model", "the parts of the uploaded model do not fit together") from None
    try:
        twin.merge(other, again=True)
        if twin.labels:
            twin.head.estimate()
    except Exception:
        raise Problem(422, "unreadable-model", "the statistics of the uploaded model make no sense") from None


def _unfit(what: str) -> Problem:
    return Problem(409, "cannot-be-merged", f"these learners cannot be merged: their {what} differ")
