"""Which images can be decoded: a corrupt one is named, and can be left out with its label.

Images are decoded where they are used, and there a corrupt one is an error, because a batch that silently lost a row
would no longer fit its labels. Whoever would rather skip it asks here first. That decodes every image once more, in
parallel, which costs little beside a forward pass; in return nothing else has to know about missing rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from foro.errors import InputError
from foro.images.load import Images, ImageSource, load_image
from foro.images.samples import Samples
from foro.util.parallel import ordered_map
from foro.util.progress import progress_bar

_AHEAD = 64


@dataclass(frozen=True)
class BadImage:
    """An image that cannot be decoded: where it was in its sequence, and a sentence that names it and says why."""

    position: int
    reason: str


def find_bad_images(images: Images) -> list[BadImage]:
    """Every image that ``load_image`` refuses, in order; memory does not grow with the number of images."""
    bad = []
    with progress_bar("checking", len(images)) as advance:
        for position, reason in enumerate(ordered_map(_reason, images, _AHEAD)):
            if reason is not None:
                bad.append(BadImage(position, reason))
            advance(1)
    return bad


def without_bad_images(samples: Samples) -> tuple[Samples, list[BadImage]]:
    """The samples that can be decoded, with their labels, and what was left out."""
    bad = find_bad_images(samples.images)
    return without(samples, bad), bad


def without(samples: Samples, bad: list[BadImage]) -> Samples:
    """The samples but for these."""
    skipped = {each.position for each in bad}
    return samples.take(position for position in range(len(samples)) if position not in skipped) if bad else samples


def _reason(image: ImageSource) -> str | None:
    try:
        load_image(image)
    except InputError as error:
        return str(error)
    return None
