"""An image as training sees it: cut out and mirrored at random, by a generator of its own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from foro.images.preprocessing import Preprocessing

RATIO = 4 / 3
"""Most that a cut-out is wider than high, or higher than wide."""


def augment(
    image: Image.Image, preprocessing: Preprocessing, least_area: float, flip: bool, random: np.random.Generator
) -> NDArray[np.float32]:
    """Pixels (3, S, S) of a random part with at least this share of the area, mirrored half of the time."""
    if least_area < 1:
        area = random.uniform(least_area, 1) * image.width * image.height
        ratio = math.exp(random.uniform(-math.log(RATIO), math.log(RATIO)))
        width = min(math.sqrt(area * ratio), image.width)
        height = min(math.sqrt(area / ratio), image.height)
        left, top = random.uniform(0, image.width - width), random.uniform(0, image.height - height)
        size = preprocessing.image_size
        image = image.resize((size, size), Image.Resampling.BICUBIC, (left, top, left + width, top + height))
        preprocessing = replace(preprocessing, crop_pct=1.0)  # it is cut out already
    if flip and random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return preprocessing(image)
