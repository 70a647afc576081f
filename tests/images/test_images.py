from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foro.errors import InputError
from foro.images.load import SPARE, Crop, load_crop, load_image, pixel_batches, resized
from foro.images.preprocessing import Preprocessing

PREPROCESSING = Preprocessing(8, 1.0, "center", "bicubic", (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


def test_every_mode_becomes_rgb(tmp_path: Path) -> None:
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F"):
        image = load_image(Image.new(mode, (3, 2)))
        assert (image.mode, image.size) == ("RGB", (3, 2))


def test_sixteen_bits_keep_their_shades() -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    shades = np.asarray(load_image(Image.fromarray(ramp)))[:, :, 0].ravel()
    assert np.abs(shades.astype(int) - np.arange(256)).max() <= 1


def test_shades_are_the_same_in_rows_and_at_once() -> None:
    values = np.random.default_rng(0).integers(0, 65536, (300, 1000)).astype(np.uint16)
    shades = np.asarray(load_image(Image.fromarray(values)))[:, :, 0]
    assert np.array_equal(shades, np.rint(values * (255 / 65535)))


def test_transparency_is_white_paper() -> None:
    assert load_image(Image.new("RGBA", (1, 1), (0, 0, 0, 0))).getpixel((0, 0)) == (255, 255, 255)
    assert load_image(Image.new("RGBA", (1, 1), (9, 8, 7, 255))).getpixel((0, 0)) == (9, 8, 7)


def test_exif_turns_the_image_upright(tmp_path: Path) -> None:
    image = Image.new("RGB", (4, 2))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "turned.jpg", exif=exif)
    assert load_image(tmp_path / "turned.jpg").size == (2, 4)


def photograph(path: Path, width: int, height: int, orientation: int = 1) -> Image.Image:
    """Writes a JPEG of smooth shapes, and returns it as it is decoded in full, upright."""
    coarse = np.random.default_rng(width).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    exif = image.getexif()
    exif[0x0112] = orientation
    image.save(path, quality=92, exif=exif)
    return load_image(path)


@pytest.mark.parametrize("mode", ["center", "squash", "border"])
@pytest.mark.parametrize(("size", "orientation"), [((1203, 801), 1), ((805, 1207), 6), ((260, 1999), 3), ((30, 40), 8)])
def test_a_photograph_is_decoded_at_a_fraction_of_its_size(
    mode: str, size: tuple[int, int], orientation: int, tmp_path: Path
) -> None:
    preprocessing = Preprocessing(32, 0.9, mode, "bicubic", (0.5,) * 3, (0.5,) * 3)
    whole = photograph(tmp_path / "large.jpg", *size, orientation)
    expected = preprocessing.crop(whole).astype(int)
    assert np.abs(load_crop(tmp_path / "large.jpg", preprocessing).astype(int) - expected).max() <= 6
    with Image.open(tmp_path / "large.jpg") as opened:
        assert resized(opened, preprocessing).size == preprocessing.resize(whole).size
        target = preprocessing.resized_size(*size)
        rows = zip(opened.size, target, size, strict=True)
        assert all(have >= SPARE * need or have == was for have, need, was in rows)
        assert opened.size != size or min(size) < 2 * SPARE * 32


def test_a_photograph_that_ends_early_is_refused(tmp_path: Path) -> None:
    photograph(tmp_path / "cut.jpg", 1200, 800)
    content = (tmp_path / "cut.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"cut\.jpg cannot be read as an image"):
        load_crop(tmp_path / "cut.jpg", PREPROCESSING)


def test_a_crop_is_what_the_backbone_sees(tmp_path: Path) -> None:
    grey = Image.effect_noise((50, 40), 60)
    crop = load_crop(grey, PREPROCESSING)
    assert np.array_equal(crop, PREPROCESSING.crop(grey.convert("RGB")))
    assert load_crop(crop, PREPROCESSING) is crop
    larger = np.zeros((9, 9, 3), np.uint8).view(Crop)  # of another backbone: an image like any other
    assert load_crop(larger, PREPROCESSING).shape == (8, 8, 3)
    grey.save(tmp_path / "same.png")
    with Image.open(tmp_path / "same.png") as mine:
        load_crop(mine, PREPROCESSING)
        assert mine.size == (50, 40)


def test_the_first_frame_of_an_animation_is_taken(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (2, 2), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    assert load_image(tmp_path / "moving.gif").getpixel((0, 0)) == (255, 0, 0)


def test_arrays_of_every_kind() -> None:
    grey = np.full((2, 3), 7, np.uint8)
    assert load_image(grey).getpixel((2, 1)) == (7, 7, 7)
    assert load_image(grey[:, :, None]).getpixel((2, 1)) == (7, 7, 7)
    assert load_image(np.full((2, 3, 3), 1.0)).getpixel((0, 0)) == (255, 255, 255)
    for wrong, said in [
        (np.zeros((3, 8, 8), np.uint8), "shape"),
        (np.zeros((0, 2), np.uint8), "shape"),
        (np.zeros(4, np.uint8), "shape"),
        (np.zeros((2, 2), np.int64), "uint8, or float"),
        (np.full((2, 2), 2.0), "between 0 and 1"),
        (np.full((2, 2), np.nan), "between 0 and 1"),
    ]:
        with pytest.raises(InputError, match=said):
            load_image(wrong)


def test_files_that_are_no_images_are_named(tmp_path: Path) -> None:
    whole = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(whole, "PNG")
    cases = {"empty.jpg": b"", "text.jpg": b"I am a text", "cut.png": whole.getvalue()[:300]}
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name} cannot be read as an image"):
            load_image(tmp_path / name)
    with pytest.raises(InputError, match="there is no image"):
        load_image(tmp_path / "none.jpg")
    with pytest.raises(InputError, match=r"cannot be read|is a folder"):
        load_image(tmp_path)


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    Image.new("1", (30_000, 30_000)).save(tmp_path / "bomb.png")
    with pytest.raises(InputError, match=r"bomb\.png"):
        load_image(tmp_path / "bomb.png")


def test_batches_come_in_order_and_errors_come_through(tmp_path: Path) -> None:
    images = [np.full((9, 9), shade, np.uint8) for shade in range(0, 250, 10)]
    batches = list(pixel_batches(images, PREPROCESSING, 4))
    assert [len(batch) for batch in batches] == [4, 4, 4, 4, 4, 4, 1]
    shades = np.concatenate(batches)[:, 0, 0, 0] * 127.5 + 127.5
    assert np.allclose(shades, np.arange(0, 250, 10), atol=1e-3)
    with pytest.raises(InputError, match="there is no image"):
        list(pixel_batches([*images, tmp_path / "gone.png"], PREPROCESSING, 4))
    assert list(pixel_batches([], PREPROCESSING, 4)) == []
