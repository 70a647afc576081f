"""From an image to the pixels that a backbone was trained on, by PIL and NumPy alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from foro.errors import BackboneError, InputError

# What timm assumes where a checkpoint's config is silent.
_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_STD = (0.229, 0.224, 0.225)
_CROP_PCT = 0.875

_INTERPOLATIONS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
}
_CROP_MODES = ("center", "squash", "border")

LARGEST_SIDE = 2048
"""Pixels: no vision transformer was trained for more, and the memory for its tokens grows with the square."""


@dataclass(frozen=True)
class Preprocessing:
    """The evaluation transform of one checkpoint, equal to timm's.

    ``center`` resizes the shorter side to ``floor(image_size / crop_pct)`` and cuts the centre, ``squash``
    resizes both sides to that length first, ``border`` resizes the longer side and pads with the mean colour.
    """

    image_size: int
    crop_pct: float
    crop_mode: str
    interpolation: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __post_init__(self) -> None:
        """Refuse values that no image can be prepared with."""
        if not 1 <= self.image_size <= LARGEST_SIDE:
            raise BackboneError(f"image_size must be between 1 and {LARGEST_SIDE}, not {self.image_size}")
        if not self.crop_pct > 0:
            raise BackboneError(f"crop_pct must be positive, not {self.crop_pct}")
        if self.crop_mode not in _CROP_MODES:
            raise BackboneError(f"crop_mode must be one of {', '.join(_CROP_MODES)}, not {self.crop_mode!r}")
        if self.interpolation not in _INTERPOLATIONS:
            raise BackboneError(
                f"interpolation must be one of {', '.join(_INTERPOLATIONS)}, not {self.interpolation!r}"
            )
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise BackboneError(f"mean and std need three values each, std positive: {self.mean}, {self.std}")

    @classmethod
    def from_config(cls, pretrained_cfg: Mapping[str, Any], image_size: int | None = None) -> Preprocessing:
        """Read a timm ``pretrained_cfg``; another ``image_size`` keeps the same ``crop_pct``."""
        channels, height, width = pretrained_cfg.get("input_size") or (3, 224, 224)
        if channels != 3 or height != width:
            raise BackboneError(f"input_size must be (3, S, S), but the config says {(channels, height, width)}")
        mean = tuple(float(value) for value in pretrained_cfg.get("mean") or _IMAGENET_MEAN)
        std = tuple(float(value) for value in pretrained_cfg.get("std") or _IMAGENET_STD)
        return cls(
            image_size=int(height) if image_size is None else int(image_size),
            crop_pct=float(pretrained_cfg.get("crop_pct") or _CROP_PCT),
            crop_mode=str(pretrained_cfg.get("crop_mode") or "center"),
            interpolation=str(pretrained_cfg.get("interpolation") or "bicubic"),
            mean=mean,  # type: ignore[arg-type]  # the length is checked in __post_init__
            std=std,  # type: ignore[arg-type]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """Inverse of ``to_dict``, also after a round trip through JSON."""
        return cls(**{**values, "mean": tuple(values["mean"]), "std": tuple(values["std"])})

    def __call__(self, image: Image.Image) -> NDArray[np.float32]:
        """Normalised pixels (3, S, S) of one image; an image that is not RGB is converted."""
        return self.normalise(self.crop(image))

    def crop(self, image: Image.Image) -> NDArray[np.uint8]:
        """The part (S, S, 3) of an image that the backbone sees, at its size and a quarter of the pixels' memory."""
        if min(image.size) < 1:
            raise InputError(f"an image of {image.width} x {image.height} pixels is empty")
        # Grey is resized first: its three colours would be the same.
        plain = image if image.mode in ("L", "RGB") else image.convert("RGB")
        return np.asarray(self._cut(self.resize(plain).convert("RGB")))

    def normalise(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Normalised pixels (…, 3, S, S) of crops (…, S, S, 3)."""
        pixels: NDArray[np.float32] = np.ascontiguousarray(np.moveaxis(crops, -1, -3), dtype=np.float32)
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        # (x / 255 - mean) / std in two passes over the pixels instead of three.
        pixels *= (1 / (255 * std))[:, None, None]
        pixels -= (mean / std)[:, None, None]
        return pixels

    def batch(self, images: Iterable[Image.Image]) -> NDArray[np.float32]:
        """Normalised pixels (n, 3, S, S) of n images; n may be 0."""
        pixels = [self(image) for image in images]
        if not pixels:
            return np.empty((0, 3, self.image_size, self.image_size), np.float32)
        return np.stack(pixels)

    @property
    def resized(self) -> int:
        """Pixels of the side that an image is resized to."""
        return math.floor(self.image_size / self.crop_pct)

    def steps(self) -> list[str]:
        """What ``crop`` does with an RGB image, for a program that has to do the same."""
        size, target = self.image_size, self.resized
        resizing = {
            "center": f"the shorter side to {target}, the longer one to floor({target} * longer / shorter)",
            "squash": f"both sides to {target}",
            "border": f"the longer side to {target}, the shorter one to round({target} * shorter / longer), 1 at least",
        }
        fill = [round(255 * value) for value in self.mean] if self.crop_mode == "border" else [0, 0, 0]
        padding = [f"pad to {size} x {size} with the colour {fill}, the image at floor of half of what is left"]
        middle = f"round((side - {size}) / 2)"
        return [
            f"resize {resizing[self.crop_mode]}, by Pillow's {self.interpolation} filter, which looks at every pixel",
            *(padding if target < size or self.crop_mode == "border" else []),
            f"cut {size} x {size} out, from {middle} on at the left and at the top, halves rounded to the even number",
            f"give the bytes (n, {size}, {size}, 3): mean and deviation are within the graph",
        ]

    def resize(self, image: Image.Image, covered: tuple[float, float] | None = None) -> Image.Image:
        """The whole image at the size that is then cropped; resizing the result again changes nothing.

        ``covered`` are the width and height of the picture in pixels of the image, where these are not all of it.
        """
        size = self.resized_size(*(covered or image.size))
        if covered is not None:
            return image.resize(size, _INTERPOLATIONS[self.interpolation], (0, 0, *covered))
        return image if size == image.size else image.resize(size, _INTERPOLATIONS[self.interpolation])

    def resized_size(self, width: float, height: float) -> tuple[int, int]:
        """Width and height to which an image is resized before it is cropped."""
        target = self.resized
        if self.crop_mode == "squash":
            return target, target
        if self.crop_mode == "border":
            ratio = max(width, height) / target
            return max(1, round(width / ratio)), max(1, round(height / ratio))
        # The longer side is truncated, not rounded, as torchvision does.
        shortest = min(width, height)
        return int(target * width / shortest), int(target * height / shortest)

    def _cut(self, image: Image.Image) -> Image.Image:
        size = self.image_size
        if min(image.size) < size:
            fill = tuple(round(255 * value) for value in self.mean) if self.crop_mode == "border" else (0, 0, 0)
            canvas = Image.new("RGB", (max(image.width, size), max(image.height, size)), fill)
            canvas.paste(image, ((canvas.width - image.width) // 2, (canvas.height - image.height) // 2))
            image = canvas
        left, top = round((image.width - size) / 2), round((image.height - size) / 2)
        return image.crop((left, top, left + size, top + size))
