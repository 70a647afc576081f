"""A model that a client sent: read with suspicion."""

from __future__ import annotations

from pathlib import Path

from foro.errors import FoRoError
from foro.files import read_model
from foro.files.model_file import DIGESTS
from foro.labels import check_labels
from foro.learner import Learner
from foro.serve.problems import Problem

LONGEST_HEADER = 16 * 2**20
"""Bytes of its description, which takes many times as much memory; the numbers themselves are only mapped."""


def read_other(path: Path, mine: Learner, again: bool) -> Learner:
    """The learner of an uploaded file, if it is whole and can be merged with mine.

    Whether its statistics make sense shows when the classifier of both is solved for, as merging does.
    """
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
        if DIGESTS not in metadata:
            raise ValueError("it has no checksums")
        other = Learner.from_state(arrays, metadata, "the uploaded file", mine.backbone)
        every = [*other.head.counts, *other.head.forgotten]
        if check_labels(every) != every:
            raise ValueError("a label is not written as ours are")
        other.check()
    except Problem:
        raise
    except FoRoError as error:
        detail = str(error).replace(str(path), "the uploaded file")
        raise Problem(422, "unreadable-model", detail) from None
    except (Exception, MemoryError):
        raise Problem(422, "unreadable-model", "the uploaded file is not a model of FoRo, or is damaged") from None
    try:
        mine.prepare_merge(other, again)
    except FoRoError as error:
        raise Problem(409, "cannot-be-merged", str(error)) from None
    return other


def _unfit(what: str) -> Problem:
    return Problem(409, "cannot-be-merged", f"these learners cannot be merged: their {what} differ")
