"""The page of a review: one HTML file with thumbnails of the images that it speaks of."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from foro.images.load import load_image
from foro.util.html import render, write_page
from foro.verbs.reviewing import MORE, Review

SIDE = 160
"""Longest side of a thumbnail, in pixels."""
QUALITY = 80
MOST_SHOWN = 200
"""Doubted images, and pairs of copies, on a page."""
MOST_NEEDS = 20


def write_review(review: Review, model: str, data: str, path: Path) -> None:
    """Writes the page; ``model`` and ``data`` say what was reviewed."""
    write_page(path, render_review(review, model, data))


def render_review(review: Review, model: str, data: str) -> str:
    """The page as HTML."""
    doubts, copies = review.doubts[:MOST_SHOWN], review.copies[:MOST_SHOWN]
    shown = {each.position for each in doubts}
    shown |= {position for each in copies for position in (each.position, each.other_position)}
    return render(
        "verbs/templates/review.html.j2",
        review=review,
        model=model,
        data=data,
        doubts=doubts,
        copies=copies,
        needs=review.needs[:MOST_NEEDS],
        more=MORE,
        thumbnails={position: _thumbnail(review, position) for position in sorted(shown)},
    )


def _thumbnail(review: Review, position: int) -> str:
    """An image as the address of a small JPEG within the page."""
    image = load_image(review.samples.images[position])
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
