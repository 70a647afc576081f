"""Any image a user can give, as an upright RGB image; and many of them, decoded in parallel with bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from foro.errors import InputError
from foro.images.formats import open_image
from foro.images.preprocessing import Preprocessing
from foro.types import Float32
from foro.util.parallel import ordered_map

ImageSource = str | os.PathLike[str] | Image.Image | NDArray[Any]
Images = Sequence[ImageSource] | NDArray[Any]

MOST_PIXELS = 178_956_970
"""Pillow's own limit against decompression bombs; at that size an RGB image takes half a gigabyte."""

NARROWEST = 200
"""Long side to short side: at the size where the short side fits a backbone, the long one would fill the memory."""

READING = (
    "decode a JPEG at the smallest of 1/8, 1/4, 1/2 and 1 at which no side is below twice what it is resized to; "
    "in full, the answer is nearly the same",
    "resize what was decoded smaller before it is turned: of its last row and column, only what is of the picture",
    "turn the image upright by its EXIF orientation",
    "multiply grey of 16 bits or more by 255 / 65535, grey in floating point by 255 / max(1, largest value); round it",
    "lay transparency on white",
    "convert to RGB",
)
"""What ``load_crop`` does with a file before it is resized, for a program that has to do the same."""

SPARE = 2
"""A JPEG is decoded at no less than so many times the size that it is then resized to."""


class Crop(np.ndarray[Any, np.dtype[np.uint8]]):
    """The pixels (S, S, 3) that a backbone sees of an image: resized and cut already."""


def check_images(images: object) -> Images:
    """Many images, or an error that says how to give one."""
    if isinstance(images, (str, os.PathLike, Image.Image)) or not isinstance(images, (Sequence, np.ndarray)):
        raise InputError(f"images must be a list, a single one a list of one, not {type(images).__name__}")
    if isinstance(images, np.ndarray) and (images.ndim < 3 or (images.ndim == 3 and images.shape[2] in (3, 4))):
        raise InputError(
            f"an array of many images has the shape (n, H, W) or (n, H, W, 3), not {images.shape}: "
            "give a single image as a list of one"
        )
    return images


def load_image(source: ImageSource) -> Image.Image:
    """An RGB image, turned upright by its EXIF tag, from a path, a PIL image or an array (H, W[, 1 | 3 | 4])."""
    return _load(source, _upright).convert("RGB")


def load_crop(source: ImageSource, preprocessing: Preprocessing) -> Crop:
    """What a backbone sees of an image; a crop of its size is left as it is."""
    side = preprocessing.image_size
    if isinstance(source, Crop) and source.shape == (side, side, 3):
        return source
    return preprocessing.crop(_load(source, partial(resized, preprocessing=preprocessing))).view(Crop)


def resized(image: Image.Image, preprocessing: Preprocessing) -> Image.Image:
    """An image from a file, upright and at the size to which it is resized before it is cut.

    Of a JPEG that is not decoded yet no more is decoded than that needs; afterwards the image has another size.
    """
    whole, (width, height) = image.size, preprocessing.resized_size(*image.size)
    drafted = image.draft(None, (SPARE * width, SPARE * height))
    if drafted is None or image.size == whole:
        return preprocessing.resize(_upright(image))
    # Before it is turned: the last pixels of a row and of a column may be only partly of the picture.
    plain = image if image.mode in ("L", "RGB") else image.convert("RGB")
    return _upright(preprocessing.resize(plain, drafted[1][2:]))


def _load(source: ImageSource, read: Callable[[Image.Image], Image.Image]) -> Image.Image:
    """What ``read`` makes of an image that was opened from a path; any other image upright."""
    if isinstance(source, np.ndarray):
        return _from_array(source)
    if isinstance(source, Image.Image):
        return _upright(source)
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"an image must be a path, a PIL image or an array, not {type(source).__name__}")
    path = Path(source)
    try:
        with open_image(path) as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise InputError(f"{path} has {width} × {height} pixels, more than can be decoded safely")
            if max(width, height) > NARROWEST * min(width, height):
                raise InputError(f"{path} has {width} × {height} pixels, too narrow to be cut to a square")
            return read(image)
    except FileNotFoundError:
        raise InputError(f"there is no image {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not an image") from None
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise InputError(f"{path} has more pixels than can be decoded safely") from None
    except UnidentifiedImageError:
        reason = "it is empty" if not path.stat().st_size else "it has no known format"
        raise InputError(f"{path} cannot be read as an image: {reason}") from None
    except Exception as error:  # Pillow raises anything from SyntaxError to struct.error on damaged files
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"{path} cannot be read as an image: {reason}") from None


def _upright(image: Image.Image) -> Image.Image:
    """An image in RGB, or in shades of grey, turned upright."""
    image = ImageOps.exif_transpose(image) or image
    if image.mode.startswith("I") or image.mode == "F":  # 16 bit and more: Pillow would cut the values off at 255
        values = np.asarray(image)
        top = 65535.0 if image.mode.startswith("I") else max(float(values.max(initial=0.0)), 1.0)
        image = Image.fromarray(_eight_bits(values, top))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    return image if image.mode in ("L", "RGB") else image.convert("RGB")


def _eight_bits(values: NDArray[Any], top: float) -> NDArray[np.uint8]:
    """Values (H, W) from 0 to top as bytes; some rows at a time, because floats take eight times as much memory."""
    found = np.empty(values.shape, np.uint8)
    rows = max(1, 2**18 // values.shape[1])
    for start in range(0, len(values), rows):
        part = values[start : start + rows] * np.float64(255.0 / top)
        found[start : start + rows] = np.clip(np.rint(part, out=part), 0, 255, out=part)
    return found


def _from_array(array: NDArray[Any]) -> Image.Image:
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3, 4)) or 0 in array.shape:
        raise InputError(f"an image array must have the shape (H, W), (H, W, 3) or (H, W, 4), not {array.shape}")
    if array.dtype != np.uint8:
        if not np.issubdtype(array.dtype, np.floating):
            raise InputError(f"an image array must be uint8, or float between 0 and 1, not {array.dtype}")
        if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
            raise InputError("a float image array must lie between 0 and 1")
        array = np.uint8(np.rint(array * 255))
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    return _upright(Image.fromarray(np.ascontiguousarray(array)))


def pixel_batches(images: Images, preprocessing: Preprocessing, size: int) -> Iterator[Float32]:
    """Preprocessed pixels (b, 3, S, S) in batches of ``size``, decoded by threads while the caller computes."""

    def prepared(image: ImageSource) -> Float32:
        return preprocessing.normalise(load_crop(image, preprocessing).view(np.ndarray))

    with closing(ordered_map(prepared, images, ahead=size)) as pixels:
        for first in pixels:  # nothing but the stack is kept while the caller computes
            yield np.stack([first, *islice(pixels, size - 1)])
