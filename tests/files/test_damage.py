"""Model files that are damaged, or made by somebody who means no good: one sentence, and no model is ruined."""

from __future__ import annotations

import json
import os
import resource
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foro import Learner
from foro.backbones import Backbone
from foro.durable import DurableLearner
from foro.errors import FoRoError, ModelFileError
from foro.files import read_model, write_model
from foro.files.journal import FIRST_LINE, MARKER, journal_path
from foro.util.tensors import write_tensors
from foro.verbs.reading import check_whole, describe, load_snapshot
from tests.conftest import textures

IMAGES, LABELS = textures(10)
KINDS = {"few": {"projection_dim": 256}, "many": {"projection_dim": 48}, "without": {"projection_dim": None}}


def taught(backbone: Backbone, kind: str) -> Learner:
    learner = Learner(backbone, policy="none", readout="cls", **KINDS[kind])
    learner.learn(IMAGES, LABELS)
    learner.forget("texture 3")
    return learner


@pytest.mark.parametrize("kind", KINDS)
def test_one_flipped_bit_anywhere_is_found_before_anything_is_learned(
    tiny_backbone: Backbone, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "m.foro"
    taught(tiny_backbone, kind).save(path)
    check_whole(path)
    whole = path.read_bytes()
    arrays = int.from_bytes(whole[:8], "little") + 8
    for place in [*range(9, arrays, 97), *range(arrays, len(whole), 211)]:
        damaged = bytearray(whole)
        damaged[place] ^= 16
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"m\.foro (is|has|was|lacks)"):
            check_whole(path)
        with pytest.raises(FoRoError), DurableLearner.open(path, backbone=tiny_backbone) as model:
            model.learn(IMAGES[:1], LABELS[:1], again=True)
        assert path.read_bytes() == damaged  # nothing makes it good again, either


def test_a_damaged_file_is_not_copied_into_a_good_one(tiny_backbone: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "m.foro"
    taught(tiny_backbone, "many").save(path)
    arrays, _ = read_model(path)
    place = path.read_bytes().index(arrays["encoder.gram"].tobytes()) + 1000
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 1
    path.write_bytes(damaged)
    learner = Learner.load(path, tiny_backbone)
    learner.predict(IMAGES[:2])  # which does not need G
    other = taught(tiny_backbone, "many")
    for change in (
        lambda: learner.save(tmp_path / "copy.foro"),
        lambda: learner.learn(IMAGES, LABELS, again=True),
        lambda: other.merge(learner),
    ):
        with pytest.raises(ModelFileError, match=r"m\.foro is damaged: encoder\.gram is not what was written"):
            change()
    assert not (tmp_path / "copy.foro").exists()


def test_what_is_wrong_though_it_was_written_so_is_refused(tiny_backbone: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "m.foro"
    for kind in KINDS:
        taught(tiny_backbone, kind).save(path)
        arrays, metadata = read_model(path)
        for name in arrays:
            if not arrays[name].size or arrays[name].dtype == np.uint8:
                continue  # any bytes are a digest
            for value in (-5, 99) if arrays[name].dtype.kind == "i" else (np.nan, np.inf):
                spoiled = {**arrays, name: arrays[name].copy()}
                spoiled[name].reshape(-1)[0] = value
                if name.endswith(("reservoir.counts", "forgotten.counts", "multiplicities")) and value == 99:
                    continue  # a count like any other
                write_model(tmp_path / "bad.foro", spoiled, metadata)
                with pytest.raises(ModelFileError):
                    Learner.load(tmp_path / "bad.foro", tiny_backbone).check()
                with pytest.raises(ModelFileError):
                    check_whole(tmp_path / "bad.foro")


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of everything in JSON."""
    yield path
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def replaced(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = content.copy()
    copy[path[0]] = replaced(content[path[0]], path[1:], value)
    return copy


EVIL = (None, -1, 10**8, "\x1b[2J", [[[]]], {}, 10**30)


@pytest.mark.parametrize("first", range(3))
def test_no_description_is_a_traceback_or_fills_the_memory(
    tiny_backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _handle: None)  # which would take most of the time
    path = tmp_path / "m.foro"
    taught(tiny_backbone, "few").save(path)
    arrays, metadata = read_model(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    doors: tuple[Callable[[], object], ...] = (
        lambda: Learner.load(path, tiny_backbone).predict(IMAGES[:1]),
        lambda: load_snapshot(path, tiny_backbone).probabilities(IMAGES[:1]),
        lambda: json.dumps(describe(path), allow_nan=False),
        lambda: check_whole(path),
    )
    before, refused = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    places = [each for each in leaves(metadata) if each and each[0] not in ("schema", "digests")]
    for number, place in enumerate(places):
        write_model(path, arrays, replaced(metadata, place, EVIL[(first + number) % len(EVIL)]))
        for door in doors:
            with suppress(FoRoError):
                door()
                refused -= 1
            refused += 1
    assert refused > 0.2 * len(doors) * len(places)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


@pytest.mark.parametrize("size", [10**8, 4096])
def test_an_image_size_that_no_memory_has_is_refused_at_once(tmp_path: Path, size: int) -> None:
    learner = Learner("nano", projection_dim=64)
    learner.learn(IMAGES, LABELS)
    arrays, metadata = learner.state()
    write_model(tmp_path / "m.foro", arrays, replaced(metadata, ("backbone", "image_size"), size))
    with pytest.raises(FoRoError, match=f"image_size must be between 1 and 2048, not {size}"):
        Learner.load(tmp_path / "m.foro")


def test_brackets_without_end_are_one_sentence(tiny_backbone: Backbone, tmp_path: Path) -> None:
    path, brackets = tmp_path / "m.foro", b"[" * 200_000
    path.write_bytes((len(brackets) + 8).to_bytes(8, "little") + b'{"a": ' + brackets + b"  ")
    with pytest.raises(ModelFileError, match="nested too deeply"):
        read_model(path)
    write_tensors(path, {}, {"format": "foro-model", "foro": brackets.decode()})
    with pytest.raises(ModelFileError, match="no readable description"):
        read_model(path)
    taught(tiny_backbone, "few").save(path)
    lengths = len(brackets).to_bytes(8, "little") + bytes(8)
    check = zlib.crc32(brackets, zlib.crc32(lengths)).to_bytes(4, "little")
    journal_path(path).write_bytes(FIRST_LINE + MARKER + lengths + check + brackets)
    assert Learner.load(path, tiny_backbone).head.samples == 40


def test_an_older_file_says_so(tiny_backbone: Backbone, tmp_path: Path) -> None:
    write_tensors(tmp_path / "old.foro", {}, {"format": "foro-model", "foro": json.dumps({"schema": 1})})
    with pytest.raises(ModelFileError, match=r"old\.foro was written by FoRo 0\.1"):
        read_model(tmp_path / "old.foro")
