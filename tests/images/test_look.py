"""Each image of a lesson is looked at once, and what was seen is kept."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from foro import DurableLearner, Learner
from foro.backbones import Backbone
from foro.errors import InputError
from foro.images import look as looking
from foro.images.load import Crop, load_crop
from foro.images.look import look
from foro.images.preprocessing import Preprocessing
from foro.verbs.teach import teach, unteach
from tests.research.datasets.layouts import write_image

PREPROCESSING = Preprocessing(8, 1.0, "center", "bicubic", (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
ONE = 3 * 8 * 8


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{number}.jpg" for number in range(12)]
    for number, path in enumerate(paths):
        write_image(path, 20 * number)
    return paths


@pytest.mark.parametrize(("memory", "file"), [(100 * ONE, 0), (3 * ONE, 100 * ONE), (0, 5 * ONE), (2 * ONE, 0)])
def test_crops_are_the_same_wherever_they_are_kept(
    paths: list[Path], memory: int, file: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FORO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(looking, "IN_MEMORY", memory)
    monkeypatch.setattr(looking, "IN_FILE", file)
    crops, bad = look(paths, PREPROCESSING)
    kept = min(12, memory // ONE + file // ONE)
    assert (len(crops), bad, sum(isinstance(each, Crop) for each in crops)) == (12, [], kept)
    some = crops.take([5, 0, 11]).take([2, 0])
    assert [load_crop(each, PREPROCESSING).tobytes() for each in some] == [
        load_crop(paths[position], PREPROCESSING).tobytes() for position in (11, 5)
    ]
    assert look(crops, PREPROCESSING)[0] is crops
    assert not list((tmp_path / "cache").glob("*"))  # the file has no name, so nobody has to remove it


def test_a_disk_that_takes_nothing_only_costs_time(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("FORO_CACHE", str(tmp_path / "no folder"))
    monkeypatch.setattr(looking, "IN_MEMORY", 0)
    crops, _ = look(paths, PREPROCESSING)
    assert list(crops) == paths


def test_what_cannot_be_read_is_left_out_or_ends_it(paths: list[Path]) -> None:
    paths[3].write_bytes(b"no image")
    paths[7].unlink()
    crops, bad = look(paths, PREPROCESSING, strict=False)
    assert len(crops) == 10
    assert [(each.position, each.image) for each in bad] == [(3, str(paths[3])), (7, str(paths[7]))]
    with pytest.raises(InputError, match=r"3\.jpg cannot be read"):
        look(paths, PREPROCESSING)


def test_a_lesson_opens_each_image_once(
    tiny_backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    for number in range(240):
        path = tmp_path / "data" / f"class {number % 8}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 30 * (number % 8 + 1), (20, 20, 3), dtype=np.uint8)).save(path)
    (tmp_path / "data" / "class 3" / "bad.png").write_bytes(b"no image")
    opened: Counter[str] = Counter()
    really = Image.open

    def counting(file: Any, *others: Any, **more: Any) -> Image.Image:
        opened[str(file)] += 1
        return really(file, *others, **more)

    monkeypatch.setattr("PIL.Image.open", counting)
    settings = {"projection_dim": 64, "adaptation": "gains", "generations": 1, "search_price": 30}
    with DurableLearner.open(tmp_path / "m.foro", create=lambda: Learner(tiny_backbone, **settings)) as model:
        taught = teach(model, tmp_path / "data", held_out=0.1)
        assert (taught.samples, len(taught.skipped), taught.held_out) == (240, 1, 24)
        assert model.learner.adaptation.history is not None  # there was a search, on a sample of the images
        assert len(opened) == 241
        assert set(opened.values()) == {1}
        unteach(model, tmp_path / "data")
        assert set(opened.values()) == {2}
