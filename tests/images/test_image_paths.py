from __future__ import annotations

from pathlib import Path

import pytest

from foro.errors import InputError
from foro.images.paths import find_images, paths_in


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b/2.jpg", "b/1.PNG", "b/c/3.webp", "b/notes.txt", "b/.hidden.jpg", "[odd].jpg", "a.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(*places: str) -> list[str]:
        return [str(path.relative_to(tmp_path)) for path in find_images([str(tmp_path / place) for place in places])]

    assert found("b") == ["b/1.PNG", "b/2.jpg", "b/c/3.webp"]
    assert found("a.jpg", "b/c") == ["a.jpg", "b/c/3.webp"]
    assert found("*.jpg") == ["[odd].jpg", "a.jpg"]
    assert found("**/*.webp") == ["b/c/3.webp"]
    assert found("[odd].jpg") == ["[odd].jpg"]  # a file with a pattern's name is meant as a file
    assert found("gone.jpg") == ["gone.jpg"]  # whoever reads it says so
    assert found("b/notes.txt") == ["b/notes.txt"]
    with pytest.raises(InputError, match="no image matches"):
        found("*.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty has no images"):
        found("empty")


def test_lines() -> None:
    assert list(paths_in(["a.jpg\n", "\n", " b c.jpg\r\n", "d"])) == [Path("a.jpg"), Path(" b c.jpg"), Path("d")]
