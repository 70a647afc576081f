"""A digest of what a backbone sees of an image: two images with the same one are one image.

An image that was resized or encoded anew has another one, and so may have a JPEG that another version of Pillow
decodes: such copies are told by their features.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 16

Digests = NDArray[np.uint8]
"""(n, 16)."""


def crop_digest(crop: NDArray[np.uint8]) -> bytes:
    """Of the pixels (S, S, 3) that are left of an image when it is resized and cut."""
    return hashlib.blake2b(crop.tobytes(), digest_size=DIGEST_BYTES).digest()


def as_digests(digests: Iterable[bytes]) -> Digests:
    """Digests as rows of an array."""
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES)
