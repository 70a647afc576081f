from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from foro.errors import InputError
from foro.images.load import load_image
from foro.images.paths import find_images, paths_in
from tests.bad_images import photo


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b/2.jpg", "b/1.PNG", "b/c/3.webp", "b/notes.txt", "b/.hidden.jpg", "[odd].jpg", "a.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(*places: str) -> list[str]:
        images = find_images([str(tmp_path / place) for place in places]).images
        return [str(path.relative_to(tmp_path)) for path in images]

    assert found("b") == ["b/1.PNG", "b/2.jpg", "b/c/3.webp"]
    assert found("a.jpg", "b/c") == ["a.jpg", "b/c/3.webp"]
    assert found("*.jpg") == ["[odd].jpg", "a.jpg"]
    assert found("**/*.webp") == ["b/c/3.webp"]
    assert found("[odd].jpg") == ["[odd].jpg"]  # a file with a pattern's name is meant as a file
    assert found("gone.jpg") == ["gone.jpg"]  # whoever reads it says so
    assert found("b/notes.txt") == ["b/notes.txt"]
    with pytest.raises(InputError, match="no image matches"):
        found("*.txt")
    assert find_images([str(tmp_path / "b")]).passed_over == [tmp_path / "b" / "notes.txt"]
    assert find_images([str(tmp_path / "b" / "*")]).passed_over == [tmp_path / "b" / "notes.txt"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty has no images"):
        found("empty")


def encoded(form: str, **options: object) -> bytes:
    file = io.BytesIO()
    photo().save(file, form, **options)
    return file.getvalue()


def test_first_bytes_decide_where_names_do_not(tmp_path: Path) -> None:
    """Photographs without a suffix or with a wrong one, from a telephone, a browser or a camera."""
    for form in ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "AVIF"):
        (tmp_path / f"{form} without suffix").write_bytes(encoded(form))
    (tmp_path / "photo.jfif").write_bytes(encoded("JPEG"))
    (tmp_path / "wrong.txt").write_bytes(encoded("PNG"))
    (tmp_path / "iPhone").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40))
    for name, text in {"BMW.txt": "BMW builds cars", "P5 notes": "P5 is a label", "MM": "MM", "none": ""}.items():
        (tmp_path / name).write_text(text)
    found = find_images([str(tmp_path)])
    assert {path.name for path in found.passed_over} == {"BMW.txt", "P5 notes", "MM", "none"}
    assert len(found.images) == 11
    for path in found.images:
        if path.name != "iPhone":
            assert load_image(path).mode == "RGB"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_pipes_devices_and_links_in_circles_do_not_hang(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(encoded("JPEG"))
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    (tmp_path / "link.jpg").symlink_to(tmp_path / "a.jpg")
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nowhere.jpg")
    (tmp_path / "circle").symlink_to(tmp_path)
    found = find_images([str(tmp_path)])
    assert [path.name for path in found.images] == ["a.jpg", "link.jpg"]
    assert sorted(path.name for path in found.passed_over) == ["circle", "gone.jpg", "pipe.jpg", "zero.png"]
    for name in ("pipe.jpg", "zero.png"):
        with pytest.raises(InputError, match=f"{name} is not a regular file"):
            load_image(tmp_path / name)


def test_heic_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40))
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(InputError, match=r'1\.heic is HEIC, which needs pillow-heif: pip install "foro\[heif\]"'):
        load_image(tmp_path / "1.heic")


def test_heic_is_read(tmp_path: Path) -> None:
    heif = pytest.importorskip("pillow_heif", reason="needs the heif extra")
    heif.from_pillow(photo()).save(tmp_path / "IMG_0001", format="HEIF")
    assert find_images([str(tmp_path)]).images == [tmp_path / "IMG_0001"]
    assert np.abs(np.asarray(load_image(tmp_path / "IMG_0001"), int) - np.asarray(photo(), int)).mean() < 8


def test_lines() -> None:
    assert list(paths_in(["a.jpg\n", "\n", " b c.jpg\r\n", "d"])) == [Path("a.jpg"), Path(" b c.jpg"), Path("d")]
