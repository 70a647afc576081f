"""A torch function over images that need no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.features.extractor import BATCH
from foro.images.load import Images, pixel_batches
from foro.images.preprocessing import Preprocessing
from foro.util.progress import progress_bar


def batched(
    function: Callable[[Any], Any], images: Images, preprocessing: Preprocessing, device: Any, doing: str = "predicting"
) -> NDArray[np.float32]:
    """What a function makes of pixels (b, 3, S, S), for all images, in batches."""
    import torch

    parts = []
    with torch.inference_mode(), progress_bar(doing, len(images)) as advance:
        for pixels in pixel_batches(images, preprocessing, BATCH):
            parts.append(function(torch.from_numpy(pixels).to(device)).float().cpu().numpy())
            advance(len(pixels))
    return np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)
