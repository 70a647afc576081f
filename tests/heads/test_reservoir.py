"""The reservoir is the same whatever way the samples came, and forgets what is taken out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foro.heads.ridge import reservoir as room
from foro.heads.ridge.reservoir import Reservoir, sample_hashes
from foro.types import Float64

WIDTH = 6


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "CAPACITY", 16)
    monkeypatch.setattr(room, "_AT_ONCE", 7)


def samples(count: int, seed: int) -> tuple[Float64, list]:
    """Some of them more than once."""
    generator = np.random.default_rng(seed)
    distinct = generator.standard_normal((count, WIDTH))
    chosen = generator.integers(0, count, count)
    names = ["a", "b", 7, "7"]
    return distinct[chosen], [names[number % 4] for number in chosen]


def filled(features: Float64, labels: list, edges: list[int] | None = None) -> Reservoir:
    reservoir = Reservoir(WIDTH)
    for start, end in pairwise(edges or [0, len(labels)]):
        reservoir.add(features[start:end], labels[start:end])
    return reservoir


def assert_same(one: Reservoir, other: Reservoir) -> None:
    assert one.bound == other.bound
    assert one.hashes == other.hashes
    assert one.labels == other.labels
    assert np.array_equal(one.counts, other.counts)
    assert np.array_equal(one.features, other.features)


@given(st.integers(1, 80), st.integers(0, 1000), st.lists(st.integers(0, 80), max_size=4), st.randoms())
@settings(max_examples=60, deadline=None)
def test_neither_order_nor_cut_matters(count: int, seed: int, cuts: list[int], random: object) -> None:
    features, labels = samples(count, seed)
    order = list(range(count))
    random.shuffle(order)
    edges = sorted({0, *(min(cut, count) for cut in cuts), count})
    shuffled = filled(features[order], [labels[i] for i in order], edges)
    assert_same(shuffled, filled(features, labels))


@given(st.integers(2, 80), st.integers(0, 1000), st.data())
@settings(max_examples=60, deadline=None)
def test_merged_is_as_if_all_had_been_added_to_one(count: int, seed: int, data: st.DataObject) -> None:
    features, labels = samples(count, seed)
    cut = data.draw(st.integers(0, count))
    one, other = filled(features[:cut], labels[:cut]), filled(features[cut:], labels[cut:])
    before = list(other.hashes), other.counts.copy()
    one.merge(other)
    assert_same(one, filled(features, labels))
    assert (other.hashes, other.counts.tolist()) == (before[0], before[1].tolist())


def test_keeps_the_distinct_samples_with_the_smallest_hashes_and_counts_equal_ones() -> None:
    features, labels = samples(60, 0)
    reservoir = filled(features, labels)
    hashes = sample_hashes(features, labels)
    assert reservoir.hashes == sorted(set(hashes))[:16]
    assert reservoir.bound == sorted(set(hashes))[16]
    assert reservoir.counts.tolist() == [hashes.count(each) for each in reservoir.hashes]


def test_the_last_digits_of_features_do_not_matter_but_labels_and_lengths_do() -> None:
    features = np.random.default_rng(0).standard_normal((200, 192))
    noisy = features * (1 + 1e-7 * np.random.default_rng(1).standard_normal(features.shape))
    names: list = ["a"] * 200
    same = np.array(sample_hashes(features, names)) == sample_hashes(noisy, names)
    assert same.mean() > 0.99
    assert len({*sample_hashes(features, names)}) == 200
    one = features[:1]
    assert sample_hashes(one, [1]) != sample_hashes(one, ["1"])
    assert sample_hashes(one, ["a"]) != sample_hashes(2 * one, ["a"])
    assert len(sample_hashes(0 * one, ["a"])) == 1


def test_what_is_removed_or_dropped_is_gone_and_leaves_room_for_nobody_else() -> None:
    features, labels = samples(60, 1)
    reservoir = filled(features, labels)
    bound = reservoir.bound
    gone = features[labels.index("a")]
    copies = [i for i in range(60) if np.array_equal(features[i], gone)]
    reservoir.remove(features[copies] * (1 + 1e-6), [labels[i] for i in copies])
    assert not (np.abs(reservoir.features - gone).max(axis=1) < 1e-3).any()
    reservoir.drop("b")
    assert "b" not in reservoir.labels
    assert reservoir.bound == bound
    left = len(reservoir)
    reservoir.remove(np.full((1, WIDTH), 9.0), ["a"])  # never there
    reservoir.drop("never there")
    assert len(reservoir) == left < 16


def test_a_sample_that_came_twice_stays_once_when_removed_once() -> None:
    features = np.ones((2, WIDTH))
    reservoir = filled(features, ["a", "a"])
    reservoir.remove(features[:1], ["a"])
    assert reservoir.counts.tolist() == [1]
    reservoir.remove(features, ["a", "a"])
    assert len(reservoir) == 0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_state_brings_everything_back(kind: type) -> None:
    features, labels = samples(40, 2)
    reservoir = filled(features.astype(kind).astype(np.float64), labels)
    names = list(dict.fromkeys(labels))
    arrays, stored = reservoir.state(names)
    assert arrays["features"].dtype == kind
    assert_same(Reservoir.from_state(arrays, stored, names), reservoir)
