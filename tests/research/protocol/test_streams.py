from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foro.errors import InputError
from foro.images.samples import Samples
from foro.research.datasets.dataset import Dataset
from foro.research.protocol.streams import Stream, class_incremental


def dataset(train: list[int], test: list[int]) -> Dataset:
    """A data set with so many train and test images of each class, in a mixed order."""
    parts = []
    for counts in (train, test):
        labels: list[str | int] = [label for label, count in enumerate(counts) for _ in range(count)]
        np.random.default_rng(0).shuffle(labels)
        parts.append(Samples(np.zeros((len(labels), 1, 1), np.uint8), labels))
    return Dataset("set", "Set", *parts, split="made up")


@st.composite
def streams(draw: st.DrawFn) -> tuple[Stream, Stream]:
    """A sharp and a blurry stream of the same data, tasks and seed."""
    train = draw(st.lists(st.integers(1, 12), min_size=2, max_size=25))
    test = draw(st.lists(st.integers(1, 3), min_size=len(train), max_size=len(train)))
    tasks: int | list[int] = draw(st.integers(2, len(train)))
    if draw(st.booleans()):
        ends = sorted(draw(st.sets(st.integers(1, len(train) - 1), min_size=1)))
        tasks = [after - before for before, after in pairwise([0, *ends, len(train)])]
    seed, blur = draw(st.integers(0, 1000)), draw(st.floats(0.01, 0.99))
    data = dataset(train, test)
    return class_incremental(data, tasks, seed), class_incremental(data, tasks, seed, blur)


@settings(max_examples=60, deadline=None)
@given(streams())
def test_every_sample_and_every_class_is_in_exactly_one_task(pair: tuple[Stream, Stream]) -> None:
    for stream in pair:
        data = stream.dataset
        for samples, parts in (
            (data.train, [task.train for task in stream]),
            (data.test, [task.test for task in stream]),
        ):
            assert sorted(np.concatenate(parts)) == list(range(len(samples)))
            assert all((np.diff(part) > 0).all() for part in parts)
        assert sorted(label for task in stream for label in task.labels) == data.classes
        assert [task.number for task in stream] == list(range(1, len(stream) + 1))


@settings(max_examples=60, deadline=None)
@given(streams())
def test_a_sharp_task_has_its_own_classes_and_a_blurry_one_is_tested_on_them(pair: tuple[Stream, Stream]) -> None:
    for sharp, blurry in zip(*pair, strict=True):
        assert sharp.labels == blurry.labels
        assert np.array_equal(sharp.test, blurry.test)
        assert set(pair[0].train(sharp).labels) == set(pair[0].test(sharp).labels) == set(sharp.labels)
        assert set(sharp.labels) <= set(pair[1].train(blurry).labels)  # something of every class stays at home


@settings(max_examples=30, deadline=None)
@given(classes=st.integers(1, 40), data=st.data())
def test_equal_tasks_differ_by_one_class_at_most(classes: int, data: st.DataObject) -> None:
    tasks = data.draw(st.integers(1, classes))
    sizes = [len(task.labels) for task in class_incremental(dataset([1] * classes, [1] * classes), tasks)]
    assert len(sizes) == tasks
    assert max(sizes) - min(sizes) <= 1


def test_a_task_that_cannot_be_tested_is_refused() -> None:
    data = dataset([2, 2, 2], [1, 0, 1])
    assert len(class_incremental(data, 1)) == 1
    with pytest.raises(InputError, match=r"task \d cannot be tested: Set has no test images of its classes"):
        class_incremental(data, 3)


@pytest.mark.parametrize("blur", [0.0, 0.3])
def test_a_seed_repeats_and_another_does_not(blur: float) -> None:
    data = dataset([20] * 10, [2] * 10)
    first, again, other = (class_incremental(data, 5, seed, blur) for seed in (3, 3, 4))
    for one, two in zip(first, again, strict=True):
        assert one.labels == two.labels
        assert np.array_equal(one.train, two.train)
    assert [task.labels for task in first] != [task.labels for task in other]


def test_the_blur_moves_its_share_of_each_class() -> None:
    stream = class_incremental(dataset([100] * 6, [1] * 6), 3, blur=0.29)
    for label in stream.dataset.classes:
        counts = [stream.train(task).labels.count(label) for task in stream]
        at_home = [label in task.labels for task in stream].index(True)
        assert counts[at_home] == 71
        assert min(counts) > 0  # the others share the rest


@pytest.mark.parametrize("blur", [0.0, 0.3])
def test_imbalance_keeps_fewer_images_of_each_class_and_all_tests(blur: float) -> None:
    data = dataset([100] * 11, [2] * 11)
    stream = class_incremental(data, 4, seed=1, blur=blur, imbalance=10)
    learned = np.concatenate([task.train for task in stream])
    kept = sorted(np.bincount([int(data.train.labels[place]) for place in learned]).tolist())
    assert kept == sorted(round(100 * 10 ** -(rank / 10)) for rank in range(11))
    assert sum(len(task.test) for task in stream) == 22
    assert stream.description.endswith("the largest class with 10 times the train images of the smallest")
    again = class_incremental(data, 4, seed=1, blur=blur, imbalance=10)
    assert all(np.array_equal(one.train, two.train) for one, two in zip(stream, again, strict=True))
    with pytest.raises(InputError, match="imbalance must be at least 1, not 0"):
        class_incremental(data, 4, imbalance=0)


@pytest.mark.parametrize(
    ("tasks", "blur", "said"),
    [
        (5, 0.0, "5 tasks of 2 classes, class order from seed 7"),
        (10, 0.0, "10 tasks of 1 class, class order from seed 7"),
        (1, 0.0, "1 task of 10 classes, class order from seed 7"),
        (4, 0.0, "4 tasks of 3 or 2 classes, as 10 cannot be cut evenly, class order from seed 7"),
        ([6, 2, 2], 0.0, "3 tasks of 6, 2, 2 classes, class order from seed 7"),
        (
            [5, 5],
            0.1,
            "2 tasks of 5 classes, class order from seed 7, 10 % of each class's train images in other tasks",
        ),
    ],
)
def test_the_description_says_how_it_was_cut(tasks: int | list[int], blur: float, said: str) -> None:
    data = dataset([10] * 10, [1] * 10)
    assert class_incremental(data, tasks, 7, blur).description == f"{data.description}; {said}"


@pytest.mark.parametrize(
    ("tasks", "blur", "said"),
    [
        (0, 0.0, "10 classes cannot be cut into 0 tasks"),
        (11, 0.0, "10 classes cannot be cut into 11 tasks"),
        ([], 0.0, "at least 1 class"),
        ([10, 0], 0.0, "at least 1 class"),
        ([5, 4], 0.0, "9 classes altogether, but there are 10"),
        (5, 1.0, "blur must be"),
        (5, -0.1, "blur must be"),
        (5, float("nan"), "blur must be"),
        (1, 0.5, "needs at least 2 tasks"),
    ],
)
def test_impossible_streams_are_refused(tasks: int | list[int], blur: float, said: str) -> None:
    with pytest.raises(InputError, match=said):
        class_incremental(dataset([2] * 10, [1] * 10), tasks, 0, blur)
