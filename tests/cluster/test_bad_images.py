"""Images that cannot be read: left out and listed, or the first one named, just as without a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from foro import Learner, read_class_folders
from foro.cluster import RayEngine
from foro.errors import InputError
from foro.images.unreadable import without_unreadable
from tests.bad_images import BAD, UNUSUAL, write_images
from tests.cluster.conftest import assert_same
from tests.command_line import foro
from tests.conftest import textures

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]

SETTINGS = {"projection_dim": 96, "policy": "none"}
ENGINE = RayEngine(workers=2, shard_images=64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four classes of which two have files that are no images, and a third has unusual ones."""
    root = tmp_path_factory.mktemp("images")
    images, labels = textures(50)
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        place = root / label
        place.mkdir(exist_ok=True)
        Image.fromarray(image).save(place / f"{number:03}.png")
    write_images(root / "texture 0", {name: BAD[name] for name in ("corrupt.jpg", "empty.jpg")})
    write_images(root / "texture 1", UNUSUAL)
    write_images(root / "texture 3", {"text.jpg": BAD["text.jpg"]})
    return root


def test_bad_images_are_found_by_the_cluster_as_by_one_process(ray: Any, folder: Path) -> None:
    samples = read_class_folders(folder)
    expected, bad = without_unreadable(samples)
    good, found = ENGINE.without_unreadable(samples)
    assert len(bad) == 3
    assert found == bad
    assert (good.images, good.labels) == (expected.images, expected.labels)
    again, nothing = ENGINE.without_unreadable(good)
    assert again is good
    assert nothing == []


def test_the_first_bad_image_is_named_and_nothing_is_learned(ray: Any, tiny_folder: Path, folder: Path) -> None:
    samples = read_class_folders(folder)
    local = Learner(tiny_folder, **SETTINGS)
    with pytest.raises(InputError) as expected:
        local.learn(samples.images, samples.labels)
    shared = Learner(tiny_folder, engine=ENGINE, **SETTINGS)
    with pytest.raises(InputError) as found:
        shared.learn(samples.images, samples.labels)
    assert str(found.value) == str(expected.value)
    assert shared.head.samples == 0
    evolving = Learner(tiny_folder, engine=ENGINE, projection_dim=96, search_images=200)
    with pytest.raises(InputError, match="cannot be read as an image"):
        evolving.learn(samples.images, samples.labels)  # found in the sample of the search
    assert evolving.head.samples == 0


def test_the_command_learns_the_rest_and_says_what_it_left_out(
    ray: Any, tiny_folder: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    options = [folder.name, "--backbone", tiny_folder, "--policy", "none", "--set", "projection_dim=96", "--json"]
    local = foro("learn", tmp_path / "local.foro", *options)
    shared = foro("learn", tmp_path / "shared.foro", *options, "--engine", "ray", "--workers", 2)
    assert (local.code, shared.code) == (1, 1)
    mine, theirs = json.loads(shared.out), json.loads(local.out)
    assert mine["skipped"] == theirs["skipped"]
    assert len(mine["skipped"]) == 3
    for name in ("samples", "labels", "new_labels", "held_out", "accuracy_before", "accuracy_after"):
        assert mine[name] == theirs[name]
    one, other = (Learner.load(tmp_path / f"{name}.foro") for name in ("shared", "local"))
    assert_same(one.head, other.head)
    assert [event.what for event in one.ledger.events] == ["learn"]
    assert one.state()[1].keys() == other.state()[1].keys()  # the engine is in neither file
    strict = foro("learn", tmp_path / "strict.foro", *options, "--engine", "ray", "--workers", 2, "--strict")
    assert strict.code == 2
    assert "corrupt.jpg cannot be read as an image" in strict.err
    assert not (tmp_path / "strict.foro").exists()
