"""Undo: whatever the last change was, everything is as it was before it; as far as earlier states are kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foro import Learner
from foro.backbones import Backbone
from foro.durable import DurableLearner
from foro.errors import InputError, ModelFileError, NothingToUndoError
from foro.files import read_model
from foro.files.history import History
from foro.files.journal import journal_path
from tests.conftest import textures
from tests.durable.test_durable import SMALL, same

IMAGES, LABELS = textures(20)

CHANGES = ["learn", "relabel", "unlearn", "forget", "restore", "merge", "save", "open"]


def opened(path: Path, backbone: Backbone, **config: Any) -> DurableLearner:
    create = lambda: Learner(backbone, **{**SMALL, "policy": "none", **config})  # noqa: E731
    return DurableLearner.open(path, create=create, backbone=backbone, wait=False)


def change(durable: DurableLearner, what: str, number: int) -> bool:
    """Makes a change of a kind, where it is possible."""
    head = durable.learner.head
    if what == "learn":
        part = slice(number * 8, number * 8 + 8)
        return durable.learn(IMAGES[part], LABELS[part], held_out=0.0).samples > 0
    if what == "relabel":
        report = durable.learn(IMAGES[:2], ["other"] * 2, relabel=True)
        return report.samples + report.relabelled > 0
    if what == "unlearn":
        known = durable.learner.known.labels_of(durable.learner.digests(IMAGES))
        places = [place for place, labels in enumerate(known) if labels][:3]
        if places:
            durable.unlearn([IMAGES[place] for place in places], [known[place][0] for place in places])
        return bool(places)
    if what in ("forget", "restore"):
        labels = durable.learner.labels if what == "forget" else head.forgotten
        if labels:
            getattr(durable, what)(labels[0])
        return bool(labels)
    other = durable.learner.blank()
    other.learn(*textures(1, seed=100 + number))
    return durable.merge(other) > 0


def facts(learner: Learner) -> dict[str, Any]:
    """What is to be the same, exactly."""
    ledger = learner.ledger
    return {
        "labels": sorted(map(str, learner.labels)),
        "events": list(ledger.events),
        "taught": dict(ledger.taught),
        "keys": dict(ledger.keys),
        "known": sorted(learner.known.images, key=repr),
        "tasks": learner.adaptation.tasks,
    }


@given(made=st.lists(st.sampled_from(CHANGES), min_size=3, max_size=10))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_change_is_taken_back_one_after_the_other(
    tiny_backbone: Backbone, tmp_path_factory: pytest.TempPathFactory, made: list[str]
) -> None:
    path = tmp_path_factory.mktemp("undo") / "m.foro"
    durable = opened(path, tiny_backbone)
    states: list[tuple[Learner, dict[str, Any]]] = []
    for number, what in enumerate(made):
        if what == "save":
            durable.save()
        elif what == "open":
            durable.close()
            durable = opened(path, tiny_backbone)
        else:
            arrays, settings = durable.learner.state()
            copies = {name: array.copy() for name, array in arrays.items()}
            held = Learner.from_state(copies, json.loads(json.dumps(settings)), path, tiny_backbone)
            before = facts(durable.learner)
            if change(durable, what, number):
                states.append((held, before))
        assert durable.undo_left == len(states)
    while states:
        expected, before = states.pop()
        durable.undo()
        assert facts(durable.learner) == before
        same(durable.learner, expected, exactly=False)
        assert durable.undo_left == len(states)
    with pytest.raises(NothingToUndoError):
        durable.undo()
    durable.close()


def test_a_lesson_that_was_saved_is_taken_back_to_the_last_bit(tiny_backbone: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "m.foro"
    for part in range(4):
        with opened(path, tiny_backbone) as durable:
            durable.learn(IMAGES[part * 20 : part * 20 + 20], LABELS[part * 20 : part * 20 + 20])
        if part < 3:
            (tmp_path / f"{part}.foro").write_bytes(path.read_bytes())
    for part in (2, 1, 0):
        with opened(path, tiny_backbone) as durable:
            undone = durable.undo()
        assert (undone.what, undone.samples) == ("learn", 20)
        one, other = Learner.load(path, tiny_backbone), Learner.load(tmp_path / f"{part}.foro", tiny_backbone)
        same(one, other)
        (mine, _), (theirs, _) = read_model(path), read_model(tmp_path / f"{part}.foro")
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
        assert one.estimate() == other.estimate()


def test_a_change_with_a_key_can_be_made_again_after_undo_and_undo_itself_once(
    tiny_backbone: Backbone, tmp_path: Path
) -> None:
    with opened(tmp_path / "m.foro", tiny_backbone) as durable:
        durable.learn(IMAGES[:20], LABELS[:20], key="a")
        durable.learn(IMAGES[20:40], LABELS[20:40], key="b")
        for _ in range(2):
            assert durable.undo(key="u").samples == 20
        assert durable.learner.head.samples == 20
        assert durable.seen("a") is not None
        assert durable.seen("b") is None
        durable.learn(IMAGES[20:40], LABELS[20:40], key="b")
        assert durable.learner.head.samples == 40


def test_states_are_kept_within_the_limit(
    tiny_backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.foro"
    history = History(path, 0)
    for limit, fewest, most in ((0.4, 1, 18), (0, 0, 0)):
        monkeypatch.setenv("FORO_UNDO_MB", str(limit))
        with opened(path, tiny_backbone) as durable:
            for part in range(20):
                durable.learn(*textures(10, seed=part + int(100 * limit)))
                durable.save()
                assert history.bytes <= limit * 1e6
        left = durable.undo_left
        assert fewest <= left <= most
        assert history.folder.exists() == bool(limit)
    monkeypatch.setenv("FORO_UNDO_MB", "much")
    with pytest.raises(InputError, match="FORO_UNDO_MB is a number of megabytes, not 'much'"):
        opened(path, tiny_backbone)


def test_an_undo_that_cannot_be_written_is_as_if_it_had_not_been_asked_for(
    tiny_backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "m.foro", tiny_backbone) as durable:
        durable.learn(IMAGES[:20], LABELS[:20])
        durable.learn(IMAGES[20:40], LABELS[20:40])
        before = facts(durable.learner)

        def full(_handle: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(ModelFileError, match="No space left"):
                durable.undo()
        assert facts(durable.learner) == before
        assert durable.undo().samples == 20
        assert durable.learner.head.samples == 20


def test_a_crash_after_the_model_was_written_keeps_the_undo(tiny_backbone: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "m.foro"
    durable = opened(path, tiny_backbone)
    durable.learn(IMAGES[:20], LABELS[:20])
    durable.save()
    durable.learn(IMAGES[20:40], LABELS[20:40])
    left = journal_path(path).read_bytes()
    durable.undo()
    journal_path(path).write_bytes(left)  # as if it had died before that was put away
    durable.close()
    again = opened(path, tiny_backbone)
    assert again.learner.head.samples == 20
    again.undo()
    assert again.learner.labels == []
    again.close()


def test_a_change_that_went_past_it_is_not_taken_back_with_others(tiny_backbone: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "m.foro"
    with opened(path, tiny_backbone) as durable:
        durable.learn(IMAGES[:20], LABELS[:20])
    plain = Learner.load(path, tiny_backbone)
    plain.learn(IMAGES[20:40], LABELS[20:40])
    plain.save(path)
    with opened(path, tiny_backbone) as durable:
        assert durable.undo_left == 0
        durable.learn(IMAGES[40:60], LABELS[40:60])
        assert durable.undo_left == 1
        assert durable.undo().samples == 20
        assert durable.learner.head.samples == 40


def test_another_model_in_its_place_is_not_undone_into_this_one(tiny_backbone: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "m.foro"
    with opened(path, tiny_backbone) as durable:
        durable.learn(IMAGES[:20], LABELS[:20])
    with opened(tmp_path / "n.foro", tiny_backbone) as other:
        other.learn(IMAGES[20:60], LABELS[20:60])
    os.replace(tmp_path / "n.foro", path)
    with opened(path, tiny_backbone) as durable:
        assert durable.undo_left == 0
        with pytest.raises(NothingToUndoError, match="no change left"):
            durable.undo()
        assert durable.learner.head.samples == 40
