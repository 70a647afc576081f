"""Asks a model for images whose labels are known."""

from __future__ import annotations

import numpy as np

from foro.errors import InputError
from foro.evaluation.evaluation import Evaluation
from foro.images.samples import Samples
from foro.images.unreadable import BadImage
from foro.snapshot import Snapshot
from foro.types import Label
from foro.util.progress import progress_bar
from foro.verbs.predictions import predict_each


def evaluate(snapshot: Snapshot, samples: Samples, strict: bool = False) -> Evaluation:
    """Predicts every image; one that cannot be read is left out and named, or with ``strict`` is an error."""
    truth: list[Label] = []
    predicted: list[Label] = []
    confidence: list[float] = []
    bad: list[BadImage] = []
    with progress_bar("evaluating", len(samples)) as advance:
        for position, each in enumerate(predict_each(snapshot, samples.images, strict)):
            if each.error is not None:
                bad.append(BadImage(position, each.error))
            else:
                ((label, sure),) = each.top()
                truth.append(samples.labels[position])
                predicted.append(label)
                confidence.append(sure)
            advance(1)
    if not truth:
        reason = f": {bad[0].reason}" if bad else ""
        raise InputError(f"there is no image to evaluate{reason}")
    # A text such as "7" and the number 7 look the same to whoever named a folder.
    names = {str(label): label for label in snapshot.labels}
    truth = [label if label in snapshot.labels else names.get(str(label), label) for label in truth]
    return Evaluation(snapshot.labels, tuple(truth), tuple(predicted), np.array(confidence), tuple(bad))
