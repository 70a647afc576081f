"""The evaluation transform: its own rules, and timm's as the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from foro.backbones import Preprocessing
from foro.errors import BackboneError

CONFIG = {"input_size": [3, 48, 48], "crop_pct": 0.9, "interpolation": "bicubic", "mean": [0.5] * 3, "std": [0.5] * 3}


def picture(width: int, height: int) -> Image.Image:
    """Smooth shapes and noise, so that resampling and cropping both show."""
    rng = np.random.default_rng(width * 1000 + height)
    coarse = Image.fromarray(rng.integers(0, 256, (7, 9, 3), dtype=np.uint8)).resize((width, height))
    noise = rng.integers(-20, 20, (height, width, 3))
    return Image.fromarray(np.clip(np.asarray(coarse) + noise, 0, 255).astype(np.uint8))


def test_normalisation_and_layout() -> None:
    transform = Preprocessing.from_config({**CONFIG, "mean": [0.5, 0.25, 0], "std": [0.5, 0.25, 1]})
    pixels = transform(Image.new("RGB", (48, 48), (255, 0, 51)))
    assert (pixels.shape, pixels.dtype) == ((3, 48, 48), np.float32)
    np.testing.assert_allclose(pixels.mean(axis=(1, 2)), [1, -1, 0.2], atol=1e-6)


def test_a_batch_is_its_images() -> None:
    transform = Preprocessing.from_config(CONFIG)
    images = [picture(60, 80), picture(90, 50)]
    batch = transform.batch(images)
    assert batch.shape == (2, 3, 48, 48)
    np.testing.assert_array_equal(batch[1], transform(images[1]))
    assert transform.batch([]).shape == (0, 3, 48, 48)


def test_another_size_keeps_the_rest() -> None:
    transform = Preprocessing.from_config(CONFIG, image_size=32)
    assert (transform.image_size, transform.crop_pct) == (32, 0.9)
    assert transform(picture(60, 80)).shape == (3, 32, 32)


def test_defaults_are_timms() -> None:
    transform = Preprocessing.from_config({})
    assert (transform.image_size, transform.crop_pct, transform.interpolation) == (224, 0.875, "bicubic")
    assert transform.mean == (0.485, 0.456, 0.406)


def test_json_round_trip() -> None:
    transform = Preprocessing.from_config(CONFIG)
    assert Preprocessing.from_dict(json.loads(json.dumps(transform.to_dict()))) == transform


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK"])
def test_other_modes_are_converted(mode: str) -> None:
    transform = Preprocessing.from_config(CONFIG)
    image = picture(50, 50).convert(mode)
    np.testing.assert_array_equal(transform(image), transform(image.convert("RGB")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input_size": [1, 28, 28]}, "input_size"),
        ({"input_size": [3, 28, 32]}, "input_size"),
        ({"interpolation": "magic"}, "interpolation"),
        ({"crop_mode": "corner"}, "crop_mode"),
        ({"crop_pct": -1}, "crop_pct"),
        ({"std": [1.0, 0.0, 1.0]}, "std"),
        ({"mean": [0.5]}, "three values"),
    ],
)
def test_impossible_configs(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BackboneError, match=message):
        Preprocessing.from_config({**CONFIG, **change})


def timm_transform(transform: Preprocessing) -> Any:
    from timm.data import create_transform

    size = (3, transform.image_size, transform.image_size)
    values = {key: value for key, value in transform.to_dict().items() if key != "image_size"}
    return create_transform(size, **values)


@pytest.mark.torch
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("crop_mode", ["center", "squash", "border"])
@pytest.mark.parametrize("crop_pct", [0.875, 0.95, 1.0, 1.3])
def test_equal_to_timm(interpolation: str, crop_mode: str, crop_pct: float) -> None:
    config = {**CONFIG, "interpolation": interpolation, "crop_mode": crop_mode, "crop_pct": crop_pct}
    transform = Preprocessing.from_config(config)
    expected = timm_transform(transform)
    for size in ((48, 48), (100, 64), (37, 91), (20, 300), (301, 200)):
        image = picture(*size)
        np.testing.assert_allclose(transform(image), expected(image).numpy(), atol=1e-5, err_msg=str(size))


@pytest.mark.torch
@pytest.mark.shared
@pytest.mark.parametrize("image_size", [224, 112])
def test_equal_to_timm_on_photographs(shared_data: Path, image_size: int) -> None:
    transform = Preprocessing.from_config({**CONFIG, "input_size": [3, 224, 224]}, image_size)
    expected = timm_transform(transform)
    files = sorted((shared_data / "CUB_200_2011" / "images").rglob("*.jpg"))[::150][:6]
    for file in files:
        image = Image.open(file).convert("RGB")
        assert np.abs(transform(image) - expected(image).numpy()).mean() < 1 / 255
