"""A learner at one moment, for predicting: nothing that is learned later changes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from foro.errors import InputError
from foro.heads.calibration import probabilities
from foro.images.load import Crop, Images, ImageSource, check_images, load_crop
from foro.images.unreadable import UnreadableImage, image_name
from foro.labels import check_labels, same_labels
from foro.types import Float32, Float64, Label
from foro.util.parallel import ordered_map
from foro.util.progress import progress_bar, progress_of, without_bars
from foro.util.threads import one_blas_thread

if TYPE_CHECKING:
    from foro.evaluation import Comparison, Evaluation
    from foro.features.candidate import Candidate
    from foro.features.extractor import Extractor
    from foro.features.readout import Readout
    from foro.heads.familiarity import Familiarity
    from foro.heads.projection import RandomProjection
    from foro.images.preprocessing import Preprocessing

BATCH = 16
"""Images that are decoded ahead and answered together."""

ROWS = 8
"""Rows of every matrix product: always the same number, so that no digit of an answer depends on its batch."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Of one image: the probability of each of ``labels`` (c,) if it is of one of them, or why it cannot be read."""

    image: ImageSource
    labels: tuple[Label, ...]
    probabilities: Float64 | None
    unreadable: UnreadableImage | None = None
    unknown: float | None = None  # the chance that it is of none of ``labels``; None: not known

    def top(self, k: int = 1) -> list[tuple[Label, float]]:
        """The k most likely labels with their probabilities, best first."""
        return [] if self.probabilities is None else best_labels(self.labels, self.probabilities, k)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What predicting needs: adapted features, a projection, a classifier and its labels, all read-only.

    Any number of threads may predict with one snapshot while another thread goes on learning; when that has learned
    something, it makes the next snapshot, and a single assignment puts it in the place of the old one.

    Examples
    --------
    >>> from foro import Learner
    >>> learner = Learner("nano")
    >>> report = learner.learn(["tom.jpg", "rex.jpg"], ["cat", "dog"])
    >>> snapshot = learner.snapshot()       # by the thread that learns
    >>> snapshot.predict(["who.jpg"])       # by any thread, at any time
    ['cat']
    """

    labels: tuple[Label, ...]
    weights: Float64  # (M, c)
    sharpness: float  # of the softmax that turns scores into probabilities
    candidate: Candidate
    projection: RandomProjection | None
    readout: Readout
    extractor: Extractor
    source: str | None = None  # where the backbone comes from, if by name
    familiar: Familiarity | None = None  # what tells known classes from others

    def predict(self, images: Images) -> list[Label]:
        """The most likely label of each image."""
        return [self.labels[number] for number in self.scores(images).argmax(axis=1)]

    def probabilities(self, images: Images) -> Float64:
        """The probability of each of ``labels`` (n, c), for each image."""
        return probabilities(self.scores(images), self.sharpness)

    def familiarity(self, images: Images) -> Float64:
        """The chance (n,) that each image is of any of ``labels`` at all; NaN where that is not known."""
        return np.asarray(1 - self.answers(images)[1])

    def answers(self, images: Images) -> tuple[Float64, Float64]:
        """The probability of each of ``labels`` (n, c), and the chance (n,) that an image is of none of them."""
        parts = [self.answer_features(part) for part in self.features(images, "predicting")]
        if not parts:
            return np.zeros((0, len(self.labels))), np.zeros(0)
        likely, unknown = zip(*parts, strict=True)
        return np.concatenate(likely), np.concatenate(unknown)

    def top(self, images: Images, k: int = 5) -> list[list[tuple[Label, float]]]:
        """The k most likely labels of each image with their probabilities, best first."""
        if k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        return [best_labels(self.labels, row, k) for row in self.probabilities(images)]

    def predict_each(
        self, images: Iterable[ImageSource], strict: bool = False, at_once: int = BATCH
    ) -> Iterator[Prediction]:
        """A prediction for each image, in order, as soon as it is there; with ``strict`` the first bad one raises.

        Images are decoded by threads while the backbone computes. Of a list that is still being written, ``at_once=1``
        answers each image before the next one is asked for.
        """
        images, asked = _observed(images)
        read = partial(_read, self.extractor.backbone.preprocessing, strict)
        position = 0
        with closing(ordered_map(read, images, at_once) if at_once > 1 else (read(each) for each in images)) as decoded:
            while batch := list(islice(decoded, at_once)):
                with without_bars():
                    likely, unknown = self.answers([each for each in batch if not isinstance(each, str)])
                    rows = zip(likely, unknown.tolist(), strict=True)
                for each in batch:
                    image = asked.pop(0)
                    if not isinstance(each, str):
                        row, stranger = next(rows)
                        yield Prediction(image, self.labels, row, None, stranger if self.familiar else None)
                    else:
                        yield Prediction(
                            image, self.labels, None, UnreadableImage(position, each, image_name(image, position))
                        )
                    position += 1

    def evaluate(self, images: Images, labels: Sequence[Label], strict: bool = True) -> Evaluation:
        """Predicts images whose labels are known; one that cannot be read raises, or else is left out and named."""
        from foro.evaluation import Evaluation

        images, known = check_images(images), same_labels(check_labels(labels), self.labels)
        if len(known) != len(images):
            raise InputError(f"{len(images)} images came with {len(known)} labels")
        answers: list[tuple[Label, Label, float]] = []
        bad: list[UnreadableImage] = []
        with progress_bar("evaluating", len(images)) as advance:
            for label, each in zip(known, self.predict_each(images, strict), strict=True):
                if each.unreadable is not None:
                    bad.append(each.unreadable)
                else:
                    answers.append((label, *each.top()[0]))
                advance(1)
        if not answers:
            reason = f": {bad[0].reason}" if bad else ""
            raise InputError(f"there is no image to evaluate{reason}")
        truth, predicted, confidence = zip(*answers, strict=True)
        return Evaluation(self.labels, truth, predicted, np.array(confidence), tuple(bad))

    def compare(self, other: Snapshot, images: Images, labels: Sequence[Label], strict: bool = True) -> Comparison:
        """Evaluates this model and another on the same images; one that cannot be read raises, or else is left out."""
        from foro.evaluation import Comparison
        from foro.images.samples import Samples
        from foro.images.unreadable import without

        samples = Samples(check_images(images), check_labels(labels))
        first = self.evaluate(samples.images, samples.labels, strict)
        good = without(samples, list(first.bad))
        names = tuple(image_name(image, number) for number, image in enumerate(good.images))
        return Comparison(first, other.evaluate(good.images, good.labels), names)

    def features(self, images: Images, doing: str = "features") -> Iterator[Float32]:
        """Feature vectors (b, d) of images, in batches."""
        images = check_images(images)
        yield from progress_of(self.extractor.features(images, self.readout, self.candidate), len(images), doing)

    def scores(self, images: Images) -> Float64:
        """Scores (n, c) of images, one column for each of ``labels``."""
        parts = [self.score_features(part) for part in self.features(images, "predicting")]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.labels)))

    @one_blas_thread
    def score_features(self, features: Float32) -> Float64:
        """Scores (n, c) of feature vectors (n, d)."""
        scores = np.empty((len(features), len(self.labels)))
        rows = np.zeros((ROWS, features.shape[1]))
        for start in range(0, len(features), ROWS):
            part = features[start : start + ROWS]
            rows[: len(part)] = part
            projected = rows if self.projection is None else self.projection(rows)
            scores[start : start + ROWS] = (projected @ self.weights)[: len(part)]
        return scores

    def answer_features(self, features: Float32) -> tuple[Float64, Float64]:
        """``answers`` for feature vectors (n, d)."""
        scores = self.score_features(features)
        unknown = np.full(len(features), np.nan)
        if self.familiar is not None:
            rows, given = np.zeros((ROWS, features.shape[1])), np.zeros((ROWS, len(self.labels)))
            for start in range(0, len(features), ROWS):
                part = features[start : start + ROWS]
                rows[: len(part)], given[: len(part)] = part, scores[start : start + ROWS]
                unknown[start : start + ROWS] = self.familiar.unknown(rows, given)[: len(part)]
        return probabilities(scores, self.sharpness), unknown

    def pixel_answers(self, pixels: Float32) -> tuple[Float64, Float64]:
        """``answers`` for pixels (n, 3, S, S) that are prepared already."""
        layers = self.extractor.forward(self.extractor.backbone.embed(pixels), [self.candidate])[0]
        return self.answer_features(self.readout(layers))


def best_labels(labels: Sequence[Label], values: Float64, k: int) -> list[tuple[Label, float]]:
    """The k labels with the highest values (c,), and these, best first; of equals, the one learned first."""
    return [(labels[number], float(values[number])) for number in np.argsort(-values, kind="stable")[:k]]


def _observed(images: Iterable[ImageSource]) -> tuple[Iterator[ImageSource], list[ImageSource]]:
    """The images, and those that were taken from them and are not answered yet."""
    asked: list[ImageSource] = []

    def taken() -> Iterator[ImageSource]:
        for image in images:
            asked.append(image)
            yield image

    return taken(), asked


def _read(preprocessing: Preprocessing, strict: bool, source: ImageSource) -> Crop | str:
    """What the backbone sees of an image, which is all that is kept of a large one; or what is wrong."""
    try:
        return load_crop(source, preprocessing)
    except InputError as error:
        if strict:
            raise
        return str(error)
