"""What was learned is remembered by digests: nothing counts twice unasked, whatever the order and the cut."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foro import Learner
from foro.backbones import Backbone
from foro.errors import FoRoWarning, InputError
from foro.images.digests import as_digests
from foro.images.samples import Samples
from foro.images.task_images import TaskImages
from foro.known import CLASSES, DIGESTS, Known, sort_out
from foro.research.methods.cached_learner import CachedLearner
from tests.conftest import textures
from tests.durable.test_durable import same

SMALL = {"projection_dim": 96, "policy": "none"}
IMAGES, LABELS = textures(8)


def digest(number: int) -> bytes:
    """Some share their first half."""
    return (number % 3).to_bytes(8, "big") + number.to_bytes(8, "big")


def pairs(known: Known) -> Counter[tuple[bytes, object, bool]]:
    return Counter(known.images)


changes = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "forget", "restore", "rename"]),
        st.lists(st.integers(0, 9), min_size=1, max_size=5),
        st.sampled_from(["a", "b", 7]),
    ),
    max_size=20,
)


@given(changes)
@settings(max_examples=200, deadline=None)
def test_it_is_a_multiset_of_images_with_labels(made: list[tuple[str, list[int], str | int]]) -> None:
    known, expected = Known(), Counter[tuple[bytes, object, bool]]()
    for what, numbers, label in made:
        if what in ("add", "remove"):
            rows, labels = as_digests(map(digest, numbers)), [label] * len(numbers)
            (known.add if what == "add" else known.remove)(rows, labels)
            for number in numbers:
                entry = (digest(number), label, False)
                if what == "add":
                    expected[entry] += 1
                else:
                    found = next((each for each in (entry, (*entry[:2], True)) if expected[each]), None)
                    expected -= Counter([found] if found else [])
        elif what == "rename":
            known.rename(label, "c")
            expected = +Counter(
                entry
                for (row, name, hidden), count in expected.items()
                for entry in [(row, "c" if name == label else name, hidden)] * count
            )
        else:
            getattr(known, what)(label)
            expected = +Counter(
                entry
                for (row, name, hidden), count in expected.items()
                for entry in [(row, name, what == "forget" if name == label else hidden)] * count
            )
    assert pairs(known) == expected
    arrays, names = known.state()
    assert pairs(Known.from_state(arrays, json.loads(json.dumps(names)))) == expected
    assert sum(array.nbytes for array in arrays.values()) == 20 * len(known)
    both = Known()
    both.merge(known, {})
    assert both.covers(known)
    assert both.shared(known) == len({row for row, _, _ in expected})
    both.merge(known, {})
    assert pairs(both) == expected + expected
    assert known.covers(both) == (not expected)


def test_files_that_do_not_fit_are_refused() -> None:
    known = Known()
    known.add(as_digests([digest(1), digest(2)]), ["a", "b"])
    arrays, names = known.state()
    for wrong, said in (
        ({**arrays, DIGESTS: arrays[DIGESTS][:1]}, "have the shape"),
        ({**arrays, CLASSES: np.array([0, 2], np.int32)}, "the number of no label"),
        ({**arrays, CLASSES: np.array([0, -1], np.int32)}, "the number of no label"),
    ):
        with pytest.raises(ValueError, match=said):
            Known.from_state(wrong, names)


lessons = st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["a", "b"])), min_size=1, max_size=14)


@given(lessons, st.integers(0, 14), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_lesson_is_sorted_out_the_same_however_it_is_cut(
    lesson: list[tuple[int, str]], cut: int, relabel: bool
) -> None:
    known = [Known(), Known()]
    for mine, parts in zip(known, ([lesson], [lesson[:cut], lesson[cut:]]), strict=True):
        for part in parts:
            rows, labels = as_digests(digest(number) for number, _ in part), [label for _, label in part]
            found = sort_out(mine, rows, labels, relabel)
            assert sorted([*found.new, *found.known, *found.other, *found.moved]) == list(range(len(part)))
            for position, before in found.moved.items():
                mine.remove(rows[[position] * len(before)], before)
            learned = [*found.new, *found.moved]
            mine.add(rows[learned], [labels[each] for each in learned])
    assert pairs(known[0]) == pairs(known[1])
    assert set(pairs(known[0]).values()) == {1}
    last = dict(lesson if relabel else lesson[::-1])
    assert {row: label for row, label, _ in known[0].images} == {digest(each): label for each, label in last.items()}


@given(order=st.lists(st.integers(0, 31), min_size=1, max_size=60), cuts=st.lists(st.integers(1, 59), max_size=3))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_taught_again_and_again_is_learned_once(
    tiny_backbone: Backbone, order: list[int], cuts: list[int]
) -> None:
    once, often = Learner(tiny_backbone, **SMALL), Learner(tiny_backbone, **SMALL)
    distinct = list(dict.fromkeys(order))
    once.learn([IMAGES[each] for each in distinct], [LABELS[each] for each in distinct])
    edges = [0, *sorted({cut for cut in cuts if cut < len(order)}), len(order)]
    known = 0
    for start, end in pairwise(edges):
        part = order[start:end]
        known += often.learn([IMAGES[each] for each in part], [LABELS[each] for each in part]).known
    assert known == len(order) - len(distinct)
    assert often.head.counts == once.head.counts
    assert pairs(often.known) == pairs(once.known)
    assert np.allclose(often.head.means, once.head.means, rtol=1e-4, atol=1e-5)


def test_again_asks_for_the_weight_and_unlearning_takes_it_back_one_by_one(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, **SMALL)
    for _ in range(2):
        learner.learn(IMAGES, LABELS, again=True)
    assert learner.head.samples == len(learner.known) == 64
    learner.unlearn(IMAGES[:4], LABELS[:4])
    assert learner.learn(IMAGES[:4], LABELS[:4]).known == 4
    learner.unlearn(IMAGES[:4], LABELS[:4])
    assert learner.learn(IMAGES[:5], LABELS[:5]).samples == 4
    with pytest.raises(InputError, match="learned again or relabelled, not both"):
        learner.learn(IMAGES, LABELS, again=True, relabel=True)


def test_a_correction_is_as_if_the_label_had_never_been_another(tiny_backbone: Backbone) -> None:
    wrong = ["texture 1" if number in (0, 4) else label for number, label in enumerate(LABELS)]
    learner, right = Learner(tiny_backbone, **SMALL), Learner(tiny_backbone, **SMALL)
    learner.learn(IMAGES, wrong)
    right.learn(IMAGES, LABELS)
    report = learner.learn(IMAGES, LABELS)
    assert (report.samples, report.known, report.relabelled) == (0, 30, 0)
    assert [(each.position, each.label, each.known_as) for each in report.other_label] == [
        (0, "texture 0", "texture 1"),
        (4, "texture 0", "texture 1"),
    ]
    report = learner.learn(IMAGES, LABELS, relabel=True)
    assert (report.samples, report.known, report.relabelled, report.other_label) == (0, 30, 2, ())
    assert learner.head.counts == right.head.counts
    assert pairs(learner.known) == pairs(right.known)
    order = [learner.labels.index(label) for label in right.labels]
    assert np.allclose(learner.scores(IMAGES)[:, order], right.scores(IMAGES), rtol=1e-4, atol=1e-5)
    evolving = Learner(tiny_backbone, policy="evolve", projection_dim=96)
    evolving.learn(IMAGES, wrong)
    with pytest.raises(InputError, match="relabelling needs policy none or freeze"):
        evolving.learn(IMAGES, LABELS, relabel=True)


def test_a_forgotten_label_can_be_taught_anew_with_the_same_images(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, **SMALL)
    learner.learn(IMAGES, LABELS)
    learner.forget("texture 0")
    mine = [each for each, label in enumerate(LABELS) if label == "texture 0"]
    images = [IMAGES[each] for each in mine]
    assert learner.learn(images[:2], ["texture 0"] * 2).samples == 2
    assert learner.learn(images, ["texture 0"] * 8).samples == 6
    assert learner.learn(images, ["texture 0"] * 8).known == 8


def test_what_was_never_learned_is_named(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, **SMALL)
    learner.learn(IMAGES, LABELS)
    stranger = textures(1, seed=3)[0][0]
    with pytest.raises(InputError, match="nothing was unlearned: image 2 was never learned"):
        learner.unlearn([*IMAGES[:2], stranger, IMAGES[3]], LABELS[:4])
    assert learner.head.samples == 32


def test_an_image_that_comes_twice_is_unlearned_once(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, **SMALL)
    learner.learn(IMAGES, LABELS)
    learner.unlearn([IMAGES[0], IMAGES[0], IMAGES[1]], [LABELS[0], LABELS[0], LABELS[1]])
    assert learner.head.samples == len(learner.known) == 30


def test_merging_counts_nothing_twice(tiny_backbone: Backbone) -> None:
    learner, more, apart = (Learner(tiny_backbone, **SMALL) for _ in range(3))
    learner.learn(IMAGES, LABELS)
    with pytest.warns(FoRoWarning, match="every image of the other model was learned here too"):
        assert learner.merge(learner) == 0
    assert learner.head.samples == 32
    others, names = textures(4, seed=5)
    more.learn([*others, *IMAGES], [*names, *LABELS])
    apart.learn([*others, *IMAGES[:3]], [*names, *LABELS[:3]])
    with pytest.raises(InputError, match="both have learned 3 images, which would count twice"):
        learner.merge(apart)
    assert learner.merge(more) == 16
    assert pairs(learner.known) == pairs(more.known)
    assert np.array_equal(learner.head.means, more.head.means)
    assert learner.merge(apart, again=True) == 19


def test_saving_keeps_it_and_experiments_do_not_pay_for_it(
    tiny_backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.foro"
    learner = Learner(tiny_backbone, **SMALL)
    learner.learn(IMAGES, LABELS)
    learner.save(path)
    restored = Learner.load(path, tiny_backbone)
    assert pairs(restored.known) == pairs(learner.known)
    assert restored.learn(IMAGES, LABELS).known == 32
    same(restored, learner)

    def never(*_: object) -> None:
        raise AssertionError("an experiment decodes no image to compare it")

    monkeypatch.setattr("foro.images.look.crop_digest", never)
    experiment = CachedLearner(tiny_backbone, **SMALL)
    for _ in range(2):
        experiment.learn(TaskImages(Samples(IMAGES, LABELS), np.arange(32)), LABELS)
    assert (experiment.head.samples, len(experiment.known)) == (64, 0)
