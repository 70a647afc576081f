"""A learner with its model file: nothing acknowledged is lost, nothing is counted twice, nothing is half done."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foro import Learner
from foro.adaptation.search import Verdict
from foro.backbones import Backbone, load_backbone
from foro.durable import DurableLearner
from foro.errors import FoRoWarning, InputError, ModelFileError
from foro.files import read_model, write_model
from foro.files.journal import journal_path
from foro.heads.ridge import KnowledgeEncoder, packed
from tests.backbones.reference import tiny_checkpoint
from tests.conftest import textures

SMALL: dict[str, Any] = {
    "projection_dim": 96,
    "generations": 2,
    "population": 4,
    "search_images": 32,
    "search_price": 10.0,
}
IMAGES, LABELS = textures(20)

Open = Callable[..., DurableLearner]


@pytest.fixture
def open_model(tiny_backbone: Backbone, tmp_path: Path) -> Iterator[Open]:
    """Opens the model of the test, which a test may leave open, as a crash would."""
    opened: list[DurableLearner] = []

    def build(**config: Any) -> DurableLearner:
        for each in opened:
            each.close()
        policy = {"policy": "none"} if "preset" not in config else {}
        made = {**SMALL, **policy, **config}
        durable = DurableLearner.open(
            tmp_path / "m.foro", create=lambda: Learner(tiny_backbone, **made), backbone=tiny_backbone, wait=False
        )
        opened.append(durable)
        return durable

    yield build
    for each in opened:
        each.close()


def dense(encoder: KnowledgeEncoder) -> np.ndarray:
    """G, wherever its rows are."""
    statistics = encoder._statistics
    gram = statistics.tail.T @ statistics.tail
    return gram if statistics.gram is None else gram + packed.unpack(statistics.gram, statistics.size)


def same(one: Learner, other: Learner, exactly: bool = True) -> None:
    """Two learners know the same and go on the same way; up to rounding, and the order of labels, if not exactly."""
    assert set(one.labels) == set(other.labels)
    assert one.head.counts == other.head.counts
    assert one.head.samples == other.head.samples
    assert sorted(map(str, one.head.forgotten)) == sorted(map(str, other.head.forgotten))
    columns = [other.labels.index(label) for label in one.labels]
    if isinstance(one.head, KnowledgeEncoder):
        assert isinstance(other.head, KnowledgeEncoder)
        pairs = [
            (one.head._statistics.cross, other.head._statistics.cross[:, columns]),
            (dense(one.head), dense(other.head)),
        ]
    else:
        pairs = [(one.head.weights, other.head.weights[:, columns])]
    for mine, theirs in pairs:
        assert np.array_equal(mine, theirs) if exactly else np.allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    assert one.adaptation.tasks == other.adaptation.tasks
    assert one.candidate.same_as(other.candidate)
    for name in ("history", "distribution"):
        first, second = (getattr(each.adaptation, name) for each in (one, other))
        for mine, theirs in _pairs(first, second):
            assert np.array_equal(mine, theirs)


def _pairs(first: Any, second: Any) -> list[tuple[Any, Any]]:
    assert (first is None) == (second is None)
    return [] if first is None else [(first.mean, second.mean), (first.deviation, second.deviation)]


@pytest.mark.parametrize(
    "config",
    [
        {"policy": "none"},
        {"policy": "freeze", "adaptation": "gains"},
        {"policy": "freeze", "adaptation": "both"},
        {"policy": "evolve", "adaptation": "gains"},
        {"preset": "paper", "online_batch": 8},
        {"policy": "none", "projection_dim": None, "readout": "cls2"},
        {"policy": "none", "head": "nearest-mean"},
    ],
    ids=lambda config: "-".join(
        str(config.get(key, other))
        for key, other in (("policy", "paper"), ("adaptation", ""), ("readout", ""), ("head", ""))
    ),
)
def test_what_was_learned_and_not_saved_is_replayed_exactly_and_without_images(
    open_model: Open, config: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Verdict, "kept", property(lambda _: True))
    durable = open_model(**config)
    durable.learn(IMAGES[:64], LABELS[:64])
    assert durable.learner.candidate.neutral == (config.get("policy") == "none")
    durable.learn(IMAGES[64:72], LABELS[64:72], key="second")
    assert not durable.path.exists()
    with monkeypatch.context() as patch:
        patch.setattr(type(durable.learner.backbone), "embed", lambda *_: pytest.fail("it looks at images"))
        again = open_model()
    assert again.learner is not durable.learner
    same(again.learner, durable.learner)
    assert again.recovered == f"{again.path}: 2 changes that were not saved yet came from the journal"
    assert again.path.exists()
    assert np.array_equal(again.learner.scores(IMAGES[:8]), durable.learner.scores(IMAGES[:8]))
    for each in (again, durable.learner):
        each.learn(IMAGES[72:], LABELS[72:])
    same(again.learner, durable.learner, exactly=False)


def test_every_kind_of_change_is_replayed(open_model: Open, tiny_backbone: Backbone) -> None:
    durable = open_model()
    durable.learn(IMAGES, LABELS, held_out=0.2)
    durable.save()
    durable.learn(IMAGES[:8], ["novel"] * 8, again=True)
    durable.rename("novel", "strange")
    durable.rename("strange", "novel", key="rename")
    durable.rename("strange", "novel", key="rename")
    durable.forget("texture 1")
    durable.unlearn(IMAGES[:4], ["novel"] * 4)
    durable.forget("novel")
    durable.unlearn(IMAGES[4:6], ["novel"] * 2)  # also of what was forgotten
    durable.restore("texture 1")
    durable.learn(IMAGES[:3], ["texture 1"] * 3, again=True)
    again = open_model()
    same(again.learner, durable.learner, exactly=False)
    assert [event.what for event in again.learner.ledger.events] == [
        event.what for event in durable.learner.ledger.events
    ]
    assert again.learner.ledger.events == durable.learner.ledger.events
    assert again.learner.ledger.taught == durable.learner.ledger.taught
    again.restore("novel")
    assert again.learner.head.counts["novel"] == 2


def test_a_long_task_is_replayed_in_the_same_parts(open_model: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foro.heads.head.PART", 64)
    images, labels = textures(50)
    durable = open_model()
    durable.learn(images, labels)
    same(open_model().learner, durable.learner)


def test_readers_see_everything_that_was_acknowledged(open_model: Open, tiny_backbone: Backbone) -> None:
    durable = open_model()
    for part in range(4):
        durable.learn(IMAGES[part * 20 : part * 20 + 20], LABELS[part * 20 : part * 20 + 20])
        same(Learner.load(durable.path, tiny_backbone), durable.learner)
        if part % 2:
            durable.save()
            assert not journal_path(durable.path).exists()
            same(Learner.load(durable.path, tiny_backbone), durable.learner)


def test_a_crash_between_model_and_journal_counts_nothing_twice(open_model: Open) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    durable.save()
    durable.learn(IMAGES[40:], LABELS[40:])
    journal = journal_path(durable.path)
    left = journal.read_bytes()
    durable.save()
    journal.write_bytes(left)
    again = open_model()
    assert again.recovered is None
    assert again.learner.head.samples == 80
    same(again.learner, durable.learner)
    again.learn(IMAGES[:4], LABELS[:4], again=True)
    assert open_model().learner.head.samples == 84


def test_a_plain_learner_saves_what_it_read_from_the_journal_once(open_model: Open, tiny_backbone: Backbone) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    durable.save()
    durable.learn(IMAGES[40:], LABELS[40:])
    plain = Learner.load(durable.path, tiny_backbone)
    plain.learn(IMAGES[:4], LABELS[:4], again=True)
    plain.save(durable.path)
    again = open_model()
    assert again.learner.head.samples == 84
    same(again.learner, plain)


def test_a_journal_of_another_model_is_set_aside(open_model: Open, tmp_path: Path) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    durable.save()
    backup = durable.path.read_bytes()
    for part in (40, 60):
        durable.learn(IMAGES[part : part + 20], LABELS[part : part + 20])
        if part == 40:
            durable.save()
    durable.path.write_bytes(backup)
    again = open_model()
    assert again.learner.head.samples == 40
    assert "belongs to another model" in again.recovered
    assert (tmp_path / "m.foro.journal.1").exists()
    assert not journal_path(again.path).exists()


def test_a_damaged_journal_gives_what_can_be_read_and_is_kept(open_model: Open, tmp_path: Path) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    durable.save()
    ends = []
    for part in (40, 50, 60):
        durable.learn(IMAGES[part : part + 10], LABELS[part : part + 10])
        ends.append(journal_path(durable.path).stat().st_size)
    content = bytearray(journal_path(durable.path).read_bytes())
    content[ends[0] + 100] ^= 1
    journal_path(durable.path).write_bytes(content)
    again = open_model()
    assert again.learner.head.samples == 50
    assert "damaged" in again.recovered
    assert (tmp_path / "m.foro.journal.1").read_bytes() == content
    assert open_model().learner.head.samples == 50
    journal_path(again.path).write_bytes(b"somebody else's")
    last = open_model()
    assert (tmp_path / "m.foro.journal.2").read_bytes() == b"somebody else's"
    assert last.learner.head.samples == 50
    last.close()
    last.path.unlink()
    journal_path(last.path).write_bytes(content[:30] + b"?" + content[31:])
    assert open_model().learner.labels == []
    assert (tmp_path / "m.foro.journal.3").exists()


def test_a_failed_or_interrupted_change_leaves_no_trace(
    open_model: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    durable = open_model()
    with pytest.raises(InputError, match="there is no image"):
        durable.learn([*IMAGES[:5], tmp_path / "gone.png"], ["a"] * 6)
    durable.close()
    assert list(tmp_path.iterdir()) == []
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    before = durable.journal_bytes
    for call, said in [
        (lambda: durable.learn([*IMAGES, tmp_path / "gone.png"], [*LABELS, "a"]), "there is no image"),
        (lambda: durable.unlearn(IMAGES[40:41], ["nobody"]), "image 0 was never learned"),
        (lambda: durable.unlearn([np.zeros((32, 32, 3), np.uint8)] * 3, ["texture 0"] * 3), "never learned"),
        (lambda: durable.forget("nobody"), "was never learned"),
        (lambda: durable.restore("texture 0"), "was not forgotten"),
    ]:
        with pytest.raises(InputError, match=said):
            call()
    with monkeypatch.context() as patch:
        patch.setattr("foro.durable.change_record", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            durable.learn(IMAGES[40:], LABELS[40:])
    assert durable.journal_bytes == before
    assert durable.learner.head.samples == 40
    same(open_model().learner, durable.learner, exactly=False)


@pytest.mark.parametrize("change", ["learn", "unlearn", "forget", "merge", "save"])
def test_a_full_disk_changes_nothing_in_memory_or_in_the_file(
    open_model: Open, change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_backbone: Backbone
) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    durable.save()
    durable.learn(IMAGES[40:60], LABELS[40:60])
    other = Learner(tiny_backbone, **SMALL, policy="none")
    other.learn(textures(1, seed=7)[0], ["other"] * 4)
    reference = Learner.load(durable.path, tiny_backbone)

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    calls: dict[str, Callable[[], object]] = {
        "learn": lambda: durable.learn(IMAGES[60:], LABELS[60:]),
        "unlearn": lambda: durable.unlearn(IMAGES[:2], LABELS[:2]),
        "forget": lambda: durable.forget("texture 0"),
        "merge": lambda: durable.merge(other),
        "save": durable.save,
    }
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ModelFileError, match="cannot be written: No space left"):
            calls[change]()
    same(durable.learner, reference, exactly=False)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "m.foro",
        "m.foro.journal",
        "m.foro.lock",
        "m.foro.undo",
    ]
    calls[change]()  # there is room again
    same(open_model().learner, durable.learner, exactly=False)


def test_a_merge_into_a_new_model_that_cannot_be_written_leaves_it_empty(
    open_model: Open, monkeypatch: pytest.MonkeyPatch, tiny_backbone: Backbone
) -> None:
    durable = open_model()
    other = Learner(tiny_backbone, **SMALL, policy="none")
    other.learn(IMAGES[:4], ["other"] * 4)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EROFS, "Read-only file system")))
        with pytest.raises(ModelFileError, match="Read-only"):
            durable.merge(other)
    assert durable.learner.labels == []
    durable.merge(other)
    assert durable.learner.labels == ["other"]


def test_a_key_is_used_once(open_model: Open) -> None:
    durable = open_model()
    report = durable.learn(IMAGES[:40], LABELS[:40], key="a", held_out=0.5)
    assert report.held_out == 20
    assert durable.learn(IMAGES[:40], LABELS[:40], key="a") == report
    assert durable.learner.head.samples == 40
    durable.forget("texture 0", key="f")
    durable.forget("texture 0", key="f")
    durable.unlearn(IMAGES[1:2], LABELS[1:2], key="u")
    for _ in range(2):  # from the journal, then from the file
        reopened = open_model()
        seen = reopened.seen("a")
        assert (seen["what"], seen["report"]["samples"]) == ("learn", 40)
        assert reopened.learn(IMAGES[:40], LABELS[:40], key="a").new_labels == report.new_labels
        reopened.unlearn(IMAGES[1:2], LABELS[1:2], key="u")
        reopened.forget("texture 0", key="f")
        assert reopened.learner.head.samples == 39
        assert reopened.seen("b") is None
        with pytest.raises(InputError, match="the key 'a' was used before, to learn: take another one to forget"):
            reopened.forget("texture 1", key="a")
        with pytest.raises(InputError, match="a key must be a text of 1 to 200 characters"):
            reopened.forget("texture 1", key="")
        reopened.save()


def test_only_one_writer_at_a_time(open_model: Open, tiny_backbone: Backbone, tmp_path: Path) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    with pytest.raises(ModelFileError, match="is being changed by another process: try again"):
        DurableLearner.open(durable.path, backbone=tiny_backbone, wait=False)
    told = threading.Event()
    seen: list[int] = []

    def second() -> None:
        with DurableLearner.open(durable.path, backbone=tiny_backbone, waiting=told.set) as other:
            seen.append(other.learner.head.samples)
            other.learn(IMAGES[40:60], LABELS[40:60])

    thread = threading.Thread(target=second)
    thread.start()
    assert told.wait(60)
    durable.learn(IMAGES[60:], LABELS[60:])
    assert seen == []
    durable.close()
    thread.join(60)
    assert seen == [60]
    assert Learner.load(durable.path, tiny_backbone).head.samples == 80
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.foro", "m.foro.undo"]


def test_a_closed_model_cannot_be_changed(open_model: Open) -> None:
    durable = open_model()
    durable.close()
    for call in (lambda: durable.learn(IMAGES, LABELS), durable.save):
        with pytest.raises(ModelFileError, match="was closed: open it again"):
            call()
    assert durable.learner.labels == []


def test_what_a_killed_writer_left_is_cleaned_up(open_model: Open, tmp_path: Path) -> None:
    with open_model() as durable:
        durable.learn(IMAGES[:40], LABELS[:40])
    stale = [tmp_path / f".m.foro.{2**22 + 5}.abcd.part", tmp_path / f".m.foro.{os.getpid()}.abcd.part"]
    other = [tmp_path / f".m.foro.{os.getppid()}.abcd.part", tmp_path / ".n.foro.7.abcd.part"]
    for path in (*stale, *other):
        path.touch()
    open_model().close()
    assert sorted(tmp_path.iterdir()) == sorted([*other, tmp_path / "m.foro", tmp_path / "m.foro.undo"])


def test_opening_says_what_is_wrong(tmp_path: Path, tiny_backbone: Backbone) -> None:
    with pytest.raises(ModelFileError, match="there is no file"):
        DurableLearner.open(tmp_path / "none")
    with pytest.raises(ModelFileError, match="is a folder"):
        DurableLearner.open(tmp_path)
    with pytest.raises(InputError, match="unknown preset"):
        DurableLearner.open(tmp_path / "none", create=lambda: Learner(tiny_backbone, preset="best"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError, match="not a safetensors file"):
        DurableLearner.open(tmp_path / "text", create=lambda: Learner(tiny_backbone))
    assert [each.name for each in tmp_path.iterdir()] == ["text"]


def test_merging_is_saved_at_once_and_refuses_what_differs(open_model: Open, tiny_backbone: Backbone) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    other = durable.learner.blank()
    other.learn(IMAGES[40:], [f"other {label}" for label in LABELS[40:]])
    other.forget("other texture 2")
    durable.merge(other, key="m")
    durable.merge(other, key="m")
    assert durable.journal_bytes == 0
    assert durable.learner.head.samples == 80
    assert Learner.load(durable.path, tiny_backbone).head.counts == durable.learner.head.counts
    durable.restore("other texture 2")
    assert durable.learner.head.counts["other texture 2"] == 10
    with pytest.raises(InputError, match="their projections differ"):
        durable.merge(Learner(tiny_backbone, **SMALL, policy="none", seed=1))
    stranger = Learner(load_backbone(tiny_checkpoint(seed=1), threads=1), **SMALL)
    with pytest.raises(InputError, match="their backbones differ"):
        durable.merge(stranger)


def test_accuracy_is_measured_on_images_that_are_then_learned_too(tiny_backbone: Backbone) -> None:
    evolving = {"policy": "evolve", "adaptation": "gains"}
    for config in ({"policy": "none"}, evolving, {"preset": "paper", "online_batch": 8}):
        learner, plain = (Learner(tiny_backbone, **{**SMALL, **config}) for _ in range(2))
        first = learner.learn(IMAGES[:40], LABELS[:40], held_out=0.25)
        assert (first.samples, first.held_out, first.accuracy_before) == (40, 10, None)
        assert first.accuracy_after > 0.5
        second = learner.learn(IMAGES[40:], ["new" if label == "texture 3" else label for label in LABELS[40:]], 0.3)
        assert second.held_out == 12
        assert second.accuracy_before <= 0.75  # of the new label it knows nothing
        assert learner.head.samples == 80
        if config == {"policy": "none"}:
            plain.learn(IMAGES[:40], LABELS[:40])
            plain.learn(IMAGES[40:], ["new" if label == "texture 3" else label for label in LABELS[40:]])
            same(learner, plain, exactly=False)
    few = Learner(tiny_backbone, **SMALL, policy="none").learn(IMAGES[:40], LABELS[:40], held_out=0.1)
    assert (few.held_out, few.accuracy_after) == (0, None)
    with pytest.raises(InputError, match="held_out is a share"):
        plain.learn(IMAGES, LABELS, held_out=1.0)


def test_a_note_is_a_warning_too(open_model: Open) -> None:
    with pytest.warns(FoRoWarning, match="features are not adapted"):
        report = open_model(policy="freeze", adaptation="gains").learn(IMAGES[:4], LABELS[:4])
    assert "features are not adapted" in report.note


def test_a_snapshot_is_the_learner_at_one_moment(open_model: Open, tiny_backbone: Backbone) -> None:
    durable = open_model()
    with pytest.raises(InputError, match="nothing has been learned"):
        durable.learner.snapshot()
    durable.learn(IMAGES[:40], LABELS[:40])
    snapshot, scores = durable.learner.snapshot(), durable.learner.scores(IMAGES[:8])
    assert np.array_equal(snapshot.scores(IMAGES[:8]), scores)
    assert snapshot.predict(IMAGES[:8]) == durable.learner.predict(IMAGES[:8])
    probabilities = snapshot.probabilities(IMAGES[:8])
    assert np.allclose(probabilities.sum(axis=1), 1)
    durable.learn(IMAGES[40:], ["new"] * 40)
    durable.forget("texture 0")
    durable.save()
    assert np.array_equal(snapshot.scores(IMAGES[:8]), scores)
    assert snapshot.labels == ("texture 0", "texture 1", "texture 2", "texture 3")
    with pytest.raises(ValueError, match="read-only"):
        snapshot.weights[:] = 0


def test_a_snapshot_answers_while_another_thread_learns(open_model: Open) -> None:
    durable = open_model()
    durable.learn(IMAGES[:40], LABELS[:40])
    published = [durable.learner.snapshot()]
    expected = {id(published[0]): published[0].scores(IMAGES[:4])}
    stop, wrong = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            snapshot = published[-1]
            if not np.array_equal(snapshot.scores(IMAGES[:4]), expected[id(snapshot)]):
                wrong.append(snapshot)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(10):
        durable.learn(IMAGES[40:44], [f"class {number}"] * 4, again=True)
        snapshot = durable.learner.snapshot()
        expected[id(snapshot)] = snapshot.scores(IMAGES[:4])
        published.append(snapshot)
    stop.set()
    reader.join()
    assert wrong == []


@pytest.mark.parametrize("thin", [True, False])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["learn", "learn", "forget", "restore", "store", "solve"]), st.integers(0, 3)),
        min_size=3,
        max_size=12,
    )
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_forgetting_and_restoring_is_as_if_nothing_had_happened(
    tmp_path: Path, thin: bool, steps: list[tuple[str, int]]
) -> None:
    generator = np.random.default_rng(0)
    encoder, never = (KnowledgeEncoder(5, 400 if thin else 24, regularisation=1.0) for _ in range(2))
    for number in range(4):
        rows = generator.normal(size=(3, 5))
        for each in (encoder, never):
            each.absorb(rows, [f"class {number}"] * 3)
    for what, number in steps:
        label = f"class {number}"
        if what == "learn":
            rows = generator.normal(size=(2, 5))
            for each in (encoder, never):
                each.absorb(rows, [label, f"class {(number + 1) % 4}"])
        elif what == "forget" and label in encoder.labels:
            encoder.forget(label)
        elif what == "restore" and label in encoder.forgotten:
            encoder.restore(label)
        elif what == "store":
            arrays, metadata = encoder.state()
            write_model(tmp_path / "encoder", arrays, metadata)
            arrays, metadata = read_model(tmp_path / "encoder")
            encoder = KnowledgeEncoder.from_state(arrays, metadata)
        elif what == "solve" and encoder.labels:
            _ = encoder.weights
    for label in encoder.forgotten:
        encoder.restore(label)
    assert encoder.counts == never.counts
    order = [encoder.labels.index(label) for label in never.labels]
    assert np.allclose(encoder._statistics.cross[:, order], never._statistics.cross, rtol=1e-12, atol=1e-12)
    assert np.allclose(dense(encoder), dense(never), rtol=1e-12, atol=1e-12)
    assert np.allclose(encoder.weights[:, order], never.weights, rtol=1e-7, atol=1e-9)
    assert encoder.sharpness == pytest.approx(never.sharpness, rel=1e-4)
