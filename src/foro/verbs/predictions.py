"""Predictions of many images as they come; what cannot be read is named and does not stop the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice

from PIL import Image

from foro.backbones import Preprocessing
from foro.errors import InputError
from foro.images.load import ImageSource, load_image
from foro.snapshot import Snapshot, best_labels
from foro.types import Float64, Label
from foro.util.parallel import ordered_map
from foro.util.progress import without_bars

BATCH = 16


@dataclass(frozen=True, eq=False)
class Prediction:
    """Of one image: how likely each of ``labels`` is (c,), or a sentence on why it cannot be read."""

    image: ImageSource
    labels: tuple[Label, ...]
    probabilities: Float64 | None
    error: str | None = None

    def top(self, k: int = 1) -> list[tuple[Label, float]]:
        """The k most likely labels and how likely they are, best first."""
        return [] if self.probabilities is None else best_labels(self.labels, self.probabilities, k)


def predict_each(
    snapshot: Snapshot, images: Iterable[ImageSource], strict: bool = False, at_once: int = BATCH
) -> Iterator[Prediction]:
    """A prediction for each image, in their order, as soon as it is there; with ``strict``, the first bad one raises.

    Images are decoded by threads while the backbone computes. Of a list that is still being written, ``at_once=1``
    answers each image before the next one is asked for.
    """
    images, asked = _observed(images)
    read = partial(_read, snapshot.extractor.backbone.preprocessing, strict)
    with closing(ordered_map(read, images, at_once) if at_once > 1 else (read(each) for each in images)) as decoded:
        while batch := list(islice(decoded, at_once)):
            good = [each for each in batch if isinstance(each, Image.Image)]
            with without_bars():
                rows = iter(snapshot.probabilities(good))
            for each in batch:
                image = asked.pop(0)
                if isinstance(each, Image.Image):
                    yield Prediction(image, snapshot.labels, next(rows))
                else:
                    yield Prediction(image, snapshot.labels, None, each)


def _observed(images: Iterable[ImageSource]) -> tuple[Iterator[ImageSource], list[ImageSource]]:
    """The images, and those that were taken from them and are not answered yet."""
    asked: list[ImageSource] = []

    def taken() -> Iterator[ImageSource]:
        for image in images:
            asked.append(image)
            yield image

    return taken(), asked


def _read(preprocessing: Preprocessing, strict: bool, source: ImageSource) -> Image.Image | str:
    """An image at the size that the backbone crops, which is all that is kept of a large one; or what is wrong."""
    try:
        return preprocessing.resize(load_image(source))
    except InputError as error:
        if strict:
            raise
        return str(error)
