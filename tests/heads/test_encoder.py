"""The encoder is the joint ridge solution, whatever way the samples came."""

from __future__ import annotations

import itertools
import os
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foro.errors import InputError
from foro.heads.ridge import KnowledgeEncoder, RecursiveReference, packed
from foro.types import Float64

FEATURES = 5


@st.composite
def streams(draw: st.DrawFn) -> dict[str, object]:
    """Samples with labels, a way to cut them into batches, and an encoder forced through one of its solvers."""
    samples = draw(st.integers(1, 60))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes = draw(st.integers(1, 6))
    return {
        "X": generator.standard_normal((samples, FEATURES)) * draw(st.sampled_from([0.1, 1.0, 30.0])),
        "labels": [f"class {number}" for number in generator.integers(0, classes, samples)],
        "cuts": sorted(draw(st.lists(st.integers(0, samples), max_size=8))),
        "projection_dim": draw(st.sampled_from([None, 1, 7, 16, 33])),
        "tail_limit": draw(st.sampled_from([1, 3, 8, 100])),
        "predicting": draw(st.booleans()),
    }


def build(stream: dict, regularisation: float | str = 0.5, cut: bool = True) -> KnowledgeEncoder:
    encoder = KnowledgeEncoder(FEATURES, stream["projection_dim"], regularisation)
    encoder._statistics.thin_limit = encoder._statistics.tail_limit = stream["tail_limit"]
    edges = [0, *stream["cuts"], len(stream["labels"])] if cut else [0, len(stream["labels"])]
    for start, end in itertools.pairwise(edges):
        if start < end:
            encoder.absorb(stream["X"][start:end], stream["labels"][start:end])
            if stream["predicting"] and cut:
                encoder.predict(stream["X"][:1])
    return encoder


def joint(encoder: KnowledgeEncoder, X: Float64, labels: list, gamma: float) -> Float64:
    """The ridge solution on all samples at once, in the order of the encoder's labels."""
    H = encoder.project(X)
    Y = np.array([[name == label for name in encoder.labels] for label in labels], dtype=float)
    return np.linalg.solve(H.T @ H + gamma * np.eye(H.shape[1]), H.T @ Y)


def assert_close(actual: Float64, expected: Float64, tolerance: float = 1e-8) -> None:
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max(initial=0) <= tolerance * max(np.abs(expected).max(initial=0), 1e-12)


@given(streams())
@settings(max_examples=150, deadline=None)
def test_any_cut_into_batches_is_the_joint_solution(stream: dict) -> None:
    encoder = build(stream)
    assert_close(encoder.weights, joint(encoder, stream["X"], stream["labels"], 0.5))
    assert encoder.samples == len(stream["labels"])
    assert encoder.counts == {label: stream["labels"].count(label) for label in encoder.labels}


@given(streams())
@settings(max_examples=60, deadline=None)
def test_automatic_regularisation_is_joint_too_and_does_not_depend_on_the_cut(stream: dict) -> None:
    encoder = build(stream, "auto")
    gamma = encoder.regularisation_used
    assert_close(encoder.weights, joint(encoder, stream["X"], stream["labels"], gamma))
    whole = build(stream, "auto", cut=False)
    if not (stream["predicting"] and stream["projection_dim"] is None and stream["tail_limit"] > 8):
        assert gamma == whole.regularisation_used


@given(streams(), st.randoms())
@settings(max_examples=60, deadline=None)
def test_order_does_not_matter(stream: dict, random: object) -> None:
    encoder = build(stream)
    order = list(range(len(stream["labels"])))
    random.shuffle(order)
    shuffled = build({**stream, "X": stream["X"][order], "labels": [stream["labels"][i] for i in order]})
    columns = [shuffled.labels.index(label) for label in encoder.labels]
    assert_close(shuffled.weights[:, columns], encoder.weights)


@given(streams())
@settings(max_examples=60, deadline=None)
def test_equals_the_papers_recursion(stream: dict) -> None:
    encoder = build(stream)
    reference = RecursiveReference(encoder.projection_dim, len(encoder.labels), 0.5)
    edges = [0, *stream["cuts"], len(stream["labels"])]
    for start, end in itertools.pairwise(edges):
        Y = np.array([[name == label for name in encoder.labels] for label in stream["labels"][start:end]], dtype=float)
        if start < end:
            reference.update(encoder.project(stream["X"][start:end]), Y)
    assert_close(encoder.weights, reference.weights, 1e-7)


@given(streams(), st.sampled_from([1e-3, 0.5, 40.0, "auto"]), st.sampled_from([1e-3, 0.5, 40.0]))
@settings(max_examples=60, deadline=None)
def test_another_regularisation_is_as_if_it_had_always_been(stream: dict, before: float | str, after: float) -> None:
    encoder = build(stream, before)
    encoder.regularise(after)
    assert encoder.regularisation_used == after
    assert_close(encoder.weights, joint(encoder, stream["X"], stream["labels"], after), 1e-6)
    encoder.regularise("auto")
    assert encoder.regularisation_used == build(stream, "auto").regularisation_used


@given(streams(), st.data())
@settings(max_examples=80, deadline=None)
def test_absorb_then_remove_returns_to_the_state_before(stream: dict, data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, len(stream["labels"]) - 1))
    X, labels = stream["X"], stream["labels"]
    before = build({**stream, "X": X[:kept], "labels": labels[:kept], "cuts": []})
    encoder = build({**stream, "cuts": [kept]})
    encoder.unlearn(X[kept:], labels[kept:])
    assert encoder.labels == before.labels
    assert encoder.counts == before.counts
    if kept:
        assert_close(encoder.weights, before.weights)
        encoder.absorb(X[kept:], labels[kept:])
        assert_close(encoder.weights, joint(encoder, X, labels, 0.5))


@given(streams(), st.data())
@settings(max_examples=80, deadline=None)
def test_merge_equals_joint(stream: dict, data: st.DataObject) -> None:
    edge = data.draw(st.integers(0, len(stream["labels"])))
    X, labels = stream["X"], stream["labels"]
    one = build({**stream, "X": X[:edge], "labels": labels[:edge], "cuts": []})
    other = build({**stream, "X": X[edge:], "labels": labels[edge:], "cuts": []})
    untouched = other.weights.copy() if other.labels else None
    one.merge(other)
    assert_close(one.weights, joint(one, X, labels, 0.5))
    if untouched is not None:
        assert np.array_equal(other.weights, untouched)


@given(streams())
@settings(max_examples=60, deadline=None)
def test_state_round_trip_changes_nothing(stream: dict) -> None:
    encoder = build(stream, "auto")
    arrays, settings_ = encoder.state()
    restored = KnowledgeEncoder.from_state({name: array.copy() for name, array in arrays.items()}, settings_)
    assert restored.labels == encoder.labels
    assert np.array_equal(restored.weights, encoder.weights)
    for each in (encoder, restored):
        each.absorb(stream["X"], stream["labels"])
    gamma = restored.regularisation_used
    twice = np.concatenate([stream["X"], stream["X"]])
    assert_close(restored.weights, joint(restored, twice, stream["labels"] * 2, gamma))


def test_ctrl_c_while_solving_loses_nothing_and_counts_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    X, labels = generator.standard_normal((40, FEATURES)), ["a", "b"] * 20
    encoder = KnowledgeEncoder(FEATURES, 64, 0.5)
    encoder.absorb(X[:35], labels[:35])
    encoder.absorb(X[35:], labels[35:])
    assert len(encoder._statistics.tail) == 5
    add_rows = packed.add_rows

    def interrupted(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        add_rows(*arguments)

    monkeypatch.setattr(packed, "add_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        encoder.predict(X)
    monkeypatch.undo()
    assert_close(encoder.weights, joint(encoder, X, labels, 0.5))


def test_dropped_label_is_never_predicted_and_the_others_keep_their_weights() -> None:
    generator = np.random.default_rng(0)
    X, labels = generator.standard_normal((90, FEATURES)), ["a", "b", "c"] * 30
    for tail_limit in (8, 200):
        encoder = KnowledgeEncoder(FEATURES, 32, 1.0)
        encoder._statistics.thin_limit = encoder._statistics.tail_limit = tail_limit
        encoder.absorb(X[:84], labels[:84])
        encoder.predict(X)
        encoder.absorb(X[84:], labels[84:])
        before = encoder.weights.copy()
        encoder.forget("b")
        assert encoder.labels == ["a", "c"]
        assert_close(encoder.weights, before[:, [0, 2]])
        encoder._solution = None
        assert_close(encoder.weights, before[:, [0, 2]])
        assert "b" not in encoder.predict(X)
        encoder.absorb(X[:3], ["b", "b", "b"])
        assert encoder.counts["b"] == 3


def test_a_number_and_its_text_are_one_label_in_the_form_that_came_first() -> None:
    encoder = KnowledgeEncoder(2, None, 0.1)
    encoder.absorb([[1, 0], [0, 1], [-1, 0]], [1, "2", np.int64(7)])
    encoder.absorb([[1, 0], [0, 1], [-1, 0]], ["1", 2, "7"])
    assert encoder.counts == {1: 2, "2": 2, 7: 2}
    assert [type(label) for label in encoder.labels] == [int, str, int]
    encoder.unlearn([[1, 0]], ["1"])
    encoder.forget("2")
    other = encoder.blank()
    other.absorb([[1, 0], [0, 1]], ["1", 2])
    encoder.merge(other)
    assert encoder.counts == {1: 2, 7: 2, "2": 1}
    assert encoder.forgotten == ["2"]
    encoder.restore("2")
    assert encoder.counts == {1: 2, 7: 2, "2": 3}
    assert encoder.predict([[1, 0], [0, 1], [-1, 0]]) == [1, "2", 7]


@pytest.mark.parametrize(
    ("X", "labels", "said"),
    [
        ([[1.0, float("nan")]], ["a"], "sample 0 has a NaN"),
        ([[1.0, 2.0], [float("inf"), 0]], ["a", "a"], "sample 1 has a NaN or infinity"),
        ([[1.0, 2.0, 3.0]], ["a"], r"shape \(n, 2\)"),
        ([1.0, 2.0], ["a"], r"shape \(n, 2\)"),
        (np.zeros((0, 2)), [], "no sample"),
        ([[1.0, 2.0]], ["a", "b"], "1 samples came with 2 labels"),
        ([[1.0, 2.0]], [1.5], "string or an integer"),
        ([[1.0, 2.0]], [True], "string or an integer"),
        ([["x", "y"]], ["a"], "must be numbers"),
        ([[1e200, 0.0]], ["a"], "larger than 1e"),
        ([[1.0, 2.0]], "a", "labels must be a list"),
        ([[1.0], [1.0, 2.0]], ["a", "a"], "must be numbers"),
    ],
)
def test_bad_input_is_an_error_and_changes_nothing(X: object, labels: list, said: str) -> None:
    encoder = KnowledgeEncoder(2, 16)
    encoder.absorb([[1.0, 2.0], [2.0, 1.0]], ["old", "older"])
    before = encoder.weights.copy()
    for act in (encoder.absorb, encoder.unlearn):
        with pytest.raises(InputError, match=said):
            act(X, labels)
    assert encoder.labels == ["old", "older"]
    assert encoder.samples == 2
    assert np.array_equal(encoder.weights, before)


@pytest.mark.parametrize("tail_limit", [1, 100])
def test_what_was_never_learned_cannot_be_removed(tail_limit: int) -> None:
    encoder = KnowledgeEncoder(2, 16, 0.1)
    encoder._statistics.thin_limit = encoder._statistics.tail_limit = tail_limit
    encoder.absorb([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], ["a", "b", "a"])
    before = encoder.weights.copy()
    with pytest.raises(InputError, match="only 1 were learned"):
        encoder.unlearn([[2.0, 1.0], [2.0, 1.0]], ["b", "b"])
    with pytest.raises(InputError, match="only 0 were learned"):
        encoder.unlearn([[2.0, 1.0]], ["c"])
    with pytest.raises(InputError, match="never learned"):
        encoder.unlearn([[-50.0, 70.0]], ["a"])
    assert encoder.counts == {"a": 2, "b": 1}
    assert_close(encoder.weights, before)
    encoder.absorb([[0.0, 1.0]], ["a"])
    assert_close(encoder.weights, joint(encoder, np.array([[1, 2], [2, 1], [1, 1], [0, 1.0]]), list("abaa"), 0.1))


def test_what_was_never_learned_is_refused_with_automatic_regularisation_too() -> None:
    generator = np.random.default_rng(0)
    encoder = KnowledgeEncoder(FEATURES, 32)
    encoder.absorb(generator.standard_normal((200, FEATURES)), ["a", "b"] * 100)
    before = encoder.scores(np.eye(FEATURES))
    with pytest.raises(InputError, match="never learned"):
        encoder.unlearn(generator.standard_normal((1, FEATURES)) * 1000, ["a"])
    assert np.allclose(encoder.scores(np.eye(FEATURES)), before, rtol=1e-6, atol=1e-9)


def test_memory_that_runs_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = KnowledgeEncoder(FEATURES, 32)
    encoder.absorb(np.eye(FEATURES)[:2], ["a", "b"])

    def full(_size: int) -> Float64:
        raise MemoryError

    monkeypatch.setattr(packed, "zeros", full)
    with pytest.raises(MemoryError):
        encoder.absorb(np.ones((40, FEATURES)), ["c", "d"] * 20)
    monkeypatch.undo()
    assert encoder.labels == ["a", "b"]
    assert encoder.counts == {"a": 1, "b": 1}
    assert encoder.predict(np.eye(FEATURES)[:2]) == ["a", "b"]


def test_a_loaded_encoder_streams_on_with_the_regularisation_it_was_saved_with() -> None:
    generator = np.random.default_rng(3)
    X, labels = generator.standard_normal((900, 8)), generator.integers(0, 5, 900).tolist()
    encoder = KnowledgeEncoder(8, 1100)
    encoder.absorb(X[:500], labels[:500])
    arrays, settings_ = encoder.state()
    restored = KnowledgeEncoder.from_state({name: array.copy() for name, array in arrays.items()}, settings_)
    for each in (encoder, restored):
        each.absorb(X[500:700], labels[500:700])
    assert restored.regularisation_used == encoder.regularisation_used
    assert_close(restored.weights, encoder.weights)


def test_settings_are_checked() -> None:
    for arguments, said in [
        ({"regularisation": 0.0}, "positive"),
        ({"regularisation": "best"}, "positive number"),
        ({"activation": "sine"}, "unknown activation"),
        ({"projection_dim": 0}, "between 1 and"),
        ({"projection_dim": 50_000}, "between 1 and"),
        ({"features": 0}, "at least 1"),
    ]:
        with pytest.raises(InputError, match=said):
            KnowledgeEncoder(**{"features": 3, **arguments})
    with pytest.raises(InputError, match="nothing has been learned"):
        KnowledgeEncoder(3, 8).scores([[0, 0, 0]])
    with pytest.raises(InputError, match="'cat' was never learned"):
        KnowledgeEncoder(3, 8).forget("cat")


def test_different_projections_cannot_be_merged() -> None:
    encoder = KnowledgeEncoder(3, 8)
    with pytest.raises(InputError, match="their projections differ"):
        encoder.merge(KnowledgeEncoder(3, 8, seed=1))
    with pytest.raises(InputError, match="their projections differ"):
        encoder.merge(KnowledgeEncoder(3, None))
    with pytest.raises(InputError, match="numbers of features differ"):
        encoder.merge(KnowledgeEncoder(4, 8))


def test_single_precision_and_strided_input_give_the_same_and_are_not_touched() -> None:
    generator = np.random.default_rng(1)
    wide = generator.standard_normal((40, 2 * FEATURES)).astype(np.float32)
    strided, labels = wide[:, ::2], ["a", "b"] * 20
    original = wide.copy()
    one, other = (KnowledgeEncoder(FEATURES, 24) for _ in range(2))
    one.absorb(strided, labels)
    other.absorb(np.ascontiguousarray(strided, dtype=np.float64), np.array(labels))
    assert np.array_equal(one.weights, other.weights)
    assert np.array_equal(wide, original)


@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh"])
def test_features_of_zeros_are_no_trouble(activation: str) -> None:
    encoder = KnowledgeEncoder(3, 2048, activation=activation)
    encoder.absorb(np.zeros((300, 3)), ["a", "b", "c"] * 100)
    assert np.array_equal(encoder.weights, np.zeros((2048, 3)))
    assert encoder.regularisation_used > 0


def test_a_seed_repeats() -> None:
    assert np.array_equal(
        KnowledgeEncoder(3, 8, seed=5).projection.matrix, KnowledgeEncoder(3, 8, seed=5).projection.matrix
    )
    assert not np.array_equal(
        KnowledgeEncoder(3, 8, seed=5).projection.matrix, KnowledgeEncoder(3, 8, seed=6).projection.matrix
    )


def test_a_sample_that_has_two_labels_is_unlearned_with_the_one_that_is_asked_for() -> None:
    X = np.random.default_rng(0).standard_normal((6, 8))
    encoder = KnowledgeEncoder(8, 64)
    encoder.absorb(X, ["a", "a", "b", "b", "b", "b"])
    encoder.forget("a")
    encoder.absorb(X[:2], ["c", "c"])
    encoder.unlearn(X[:2], ["c", "c"])
    assert encoder.counts == {"b": 4}
    encoder.state()
    encoder.restore("a")
    encoder.unlearn(X[:1], ["a"])
    assert encoder.counts == {"b": 4, "a": 1}


def test_writing_and_reading_it_again_and_again_changes_nothing() -> None:
    X = np.abs(np.random.default_rng(0).standard_normal((20, 96))) + 3  # nearly parallel: γ is small beside G
    encoder = KnowledgeEncoder(96, None, regularisation=1e-5)
    encoder.absorb(X, [number % 4 for number in range(20)])
    expected, first = encoder.scores(X), encoder.state()[0]
    for _ in range(4):
        arrays, settings = encoder.state()
        encoder = KnowledgeEncoder.from_state(arrays, settings)
        assert np.allclose(encoder.scores(X), expected, rtol=1e-6, atol=1e-7)
        assert np.array_equal(arrays["dual"], first["dual"])
