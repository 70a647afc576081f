"""Images that cannot be decoded: each is named, and can be left out with its label.

Images are decoded where they are used, and there an unreadable one is an error, because a batch that silently lost a
row would no longer fit its labels. To skip such images, ask here first. That decodes every image once more, in
parallel, which costs little beside a forward pass; in return nothing else has to know about missing rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from foro.errors import InputError
from foro.images.load import Images, ImageSource, load_image
from foro.images.samples import Samples
from foro.util.parallel import ordered_map
from foro.util.progress import progress_bar

_AHEAD = 64


@dataclass(frozen=True)
class UnreadableImage:
    """An image that cannot be decoded: its position in its sequence, a sentence that says why, and its name."""

    position: int
    reason: str
    image: str = ""


def find_unreadable(images: Images) -> list[UnreadableImage]:
    """Every image that ``load_image`` refuses, in order; memory does not grow with the number of images."""
    bad = []
    with progress_bar("checking", len(images)) as advance:
        for position, reason in enumerate(ordered_map(_reason, images, _AHEAD)):
            if reason is not None:
                bad.append(UnreadableImage(position, reason, image_name(images[position], position)))
            advance(1)
    return bad


def without_unreadable(samples: Samples) -> tuple[Samples, list[UnreadableImage]]:
    """The samples that can be decoded, with their labels, and those that were left out."""
    bad = find_unreadable(samples.images)
    return without(samples, bad), bad


def image_name(image: ImageSource, position: int) -> str:
    """The path of an image, or its place in a sequence of images that have no name."""
    return os.fspath(image) if isinstance(image, (str, os.PathLike)) else f"image {position}"


def without(samples: Samples, bad: list[UnreadableImage]) -> Samples:
    """The samples except these."""
    skipped = {each.position for each in bad}
    return samples.take(position for position in range(len(samples)) if position not in skipped) if bad else samples


def _reason(image: ImageSource) -> str | None:
    try:
        load_image(image)
    except InputError as error:
        return str(error)
    return None
