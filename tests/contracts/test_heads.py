"""What every head must keep: those of ``foro.heads.HEADS`` as a learner builds them, and some in other settings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foro.config import LearnerConfig
from foro.errors import InputError
from foro.heads import HEADS as REGISTERED
from foro.heads import find_head
from foro.heads.head import Head, gather
from foro.heads.nearest_mean import NearestMean
from foro.heads.projection import Block
from foro.heads.ridge import KnowledgeEncoder
from foro.research.baselines.grid_ridge import GridRidge

FEATURES = 5
HEADS: dict[str, Callable[[], Head]] = {
    "ridge": lambda: KnowledgeEncoder(FEATURES, 24, 0.1),
    "ridge, γ chosen": lambda: KnowledgeEncoder(FEATURES, 24),
    "ridge without a projection": lambda: KnowledgeEncoder(FEATURES, None, 0.1),
    "nearest mean": lambda: NearestMean(FEATURES),
}


def built(name: str, blocks: list[Block]) -> Callable[[], Head]:
    """How a learner builds a head."""
    config = LearnerConfig(projection_dim=24, head=name)
    return lambda: find_head(name).build(FEATURES, blocks, config, seed=0)


for registered in REGISTERED:
    HEADS[f"{registered} by its name"] = built(registered, [])
    HEADS[f"{registered} by its name, in blocks"] = built(registered, [(0, 16, 1.0), (0, 8, 0.5)])

WHOLE_TASKS = {"ridge, γ from a grid": lambda: GridRidge(FEATURES, 24, "held-out", 0)}
"""Heads whose γ depends on how samples are cut into tasks: they keep everything else."""

exact_heads = pytest.mark.parametrize("make", HEADS.values(), ids=HEADS.keys())
every_head = pytest.mark.parametrize("make", [*HEADS.values(), *WHOLE_TASKS.values()], ids=[*HEADS, *WHOLE_TASKS])


def samples(n: int, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Features around one centre for each class, and their labels."""
    generator = np.random.default_rng(seed)
    numbers = np.arange(n) % classes
    centres = generator.standard_normal((classes, FEATURES)) * 3
    return centres[numbers] + generator.standard_normal((n, FEATURES)), [f"class {each}" for each in numbers]


def assert_same(one: Head, other: Head, X: np.ndarray, rtol: float = 1e-6) -> None:
    """Both know the same samples and give the same scores, whatever the order of their labels."""
    assert one.counts == other.counts
    assert one.samples == other.samples
    columns = [other.labels.index(label) for label in one.labels]
    assert np.allclose(one.scores(X), other.scores(X)[:, columns], rtol=rtol, atol=rtol / 100)


@exact_heads
@given(cut=st.integers(1, 59))
def test_how_samples_are_cut_into_batches_does_not_matter(make: Callable[[], Head], cut: int) -> None:
    X, labels = samples(60)
    whole, parts = make(), make()
    whole.absorb(X, labels)
    parts.absorb(X[:cut], labels[:cut])
    parts.absorb(X[cut:], labels[cut:])
    assert_same(whole, parts, X)


@exact_heads
@given(taken=st.integers(1, 30))
def test_unlearned_samples_leave_no_trace(make: Callable[[], Head], taken: int) -> None:
    X, labels = samples(60)
    head, never = make(), make()
    head.absorb(X, labels)
    head.unlearn(X[60 - taken :], labels[60 - taken :])
    never.absorb(X[: 60 - taken], labels[: 60 - taken])
    assert_same(head, never, X)
    with pytest.raises(InputError, match="cannot unlearn 1 sample of 'nobody': only 0 were learned"):
        head.unlearn(X[:1], ["nobody"])


@exact_heads
def test_merging_is_as_if_one_had_learned_both(make: Callable[[], Head]) -> None:
    X, labels = samples(60)
    both, one = make(), make()
    both.absorb(X, labels)
    one.absorb(X[:25], labels[:25])
    other = one.blank()
    assert other.samples == 0
    other.absorb(X[25:], labels[25:])
    before = other.scores(X)
    one.merge(other)
    assert_same(one, both, X)
    assert np.array_equal(other.scores(X), before)
    stranger = KnowledgeEncoder(FEATURES + 1, None, 0.1)
    with pytest.raises(InputError, match=r"cannot be merged: their .* differ"):
        one.merge(stranger)


@every_head
def test_a_forgotten_label_is_never_predicted_until_it_is_restored(make: Callable[[], Head]) -> None:
    X, labels = samples(60)
    head, never = make(), make()
    for each in (head, never):
        each.absorb(X, labels)
    head.forget("class 1")
    assert "class 1" not in head.predict(X)
    assert (head.labels, head.forgotten) == (["class 0", "class 2"], ["class 1"])
    assert head.samples == 60
    again = type(head).from_state(*head.state())
    assert again.forgotten == ["class 1"]
    again.restore("class 1")
    assert_same(again, never, X)
    with pytest.raises(InputError, match="'class 1' was not forgotten"):
        again.restore("class 1")
    with pytest.raises(InputError, match="'nobody' was never learned"):
        again.forget("nobody")


@exact_heads
def test_samples_of_a_forgotten_label_can_be_unlearned(make: Callable[[], Head]) -> None:
    X, labels = samples(60)
    head, never = make(), make()
    for each in (head, never):
        each.absorb(X, labels)
    mine = [number for number, label in enumerate(labels) if label == "class 1"]
    few, all_of_it = mine[:5], mine[5:]
    head.forget("class 1")
    head.unlearn(X[few], ["class 1"] * 5)
    assert (head.forgotten, head.samples) == (["class 1"], 55)
    never.unlearn(X[few], ["class 1"] * 5)
    again = type(head).from_state(*head.state())
    again.restore("class 1")
    assert_same(again, never, X)
    with pytest.raises(InputError, match=f"cannot unlearn {len(mine)} samples of 'class 1': only {len(all_of_it)}"):
        head.unlearn(X[mine], ["class 1"] * len(mine))
    assert head.forgotten == ["class 1"]
    head.unlearn(X[all_of_it], ["class 1"] * len(all_of_it))
    assert (head.forgotten, head.labels, head.samples) == ([], ["class 0", "class 2"], 40)


@every_head
def test_a_renamed_label_is_as_if_it_had_been_learned_so(make: Callable[[], Head]) -> None:
    X, labels = samples(60, classes=4)
    rtol = 1e-3 if isinstance(make(), GridRidge) else 1e-6  # which counts in single precision
    for old, new in [("class 1", "novel"), ("class 1", "class 3"), ("class 3", "class 0")]:
        head, fresh = make(), make()
        head.absorb(X, labels)
        head.scores(X)
        head.rename(old, new)
        fresh.absorb(X, [new if label == old else label for label in labels])
        assert head.labels == fresh.labels
        assert_same(head, fresh, X, rtol)
        again = type(head).from_state(*head.state())
        for each in (again, fresh):
            each.unlearn(X[:7], [new if label == old else label for label in labels[:7]])
        assert_same(again, fresh, X, rtol)
    head = make()
    head.absorb(X, labels)
    head.forget("class 2")
    head.absorb(X, labels)
    head.rename("class 2", "later")
    assert head.forgotten == ["later"]
    head.restore("later")
    assert head.counts["later"] == 30
    with pytest.raises(InputError, match="'nobody' was never learned"):
        head.rename("nobody", "somebody")


@exact_heads
def test_state_is_everything(make: Callable[[], Head]) -> None:
    X, labels = samples(60)
    head = make()
    head.absorb(X[:40], labels[:40])
    again = type(head).from_state(*head.state())
    assert np.array_equal(again.scores(X), head.scores(X))
    for each in (head, again):
        each.absorb(X[40:], labels[40:])
    assert_same(again, head, X)


@every_head
def test_scores_do_not_depend_on_the_batch_and_probabilities_add_up(make: Callable[[], Head]) -> None:
    X, labels = samples(60)
    head = make()
    head.absorb(X, labels)
    alone = np.concatenate([head.scores(row[None]) for row in X])
    assert np.allclose(head.scores(X), alone, rtol=1e-10, atol=1e-12)
    assert np.allclose(head.probabilities(X).sum(axis=1), 1.0)
    assert head.predict(X) == [head.labels[number] for number in head.scores(X).argmax(axis=1)]
    assert np.mean([one == other for one, other in zip(head.predict(X), labels, strict=True)]) > 0.8
    estimate = head.estimate()
    assert set(estimate.classes) == set(head.labels)
    assert estimate.accuracy is None or estimate.accuracy > 0.5


@exact_heads
@given(left=st.integers(0, 58), seed=st.integers(0, 20))
def test_a_sample_that_is_left_out_is_as_if_never_learned(make: Callable[[], Head], left: int, seed: int) -> None:
    X, labels = samples(60, seed=seed)
    head, never = make(), make()
    head.absorb(X[:59], labels[:59])
    gamma = getattr(head, "regularisation_used", None)
    never.absorb(np.delete(X[:59], left, axis=0), labels[:left] + labels[left + 1 : 59])
    if gamma is not None:
        never.regularise(gamma)
    learned = [[label] for label in labels[:59]] + [[]]
    found = head.left_out(X, learned).scores
    columns = [never.labels.index(label) for label in head.labels]
    assert np.allclose(found[left], never.scores(X[left : left + 1])[0, columns], rtol=1e-6, atol=1e-8)
    assert np.allclose(found[59], head.scores(X[59:])[0], rtol=1e-6, atol=1e-8)


@every_head
def test_what_is_given_is_never_changed(make: Callable[[], Head]) -> None:
    X, labels = samples(60)
    kept = X.copy()
    head = make()
    head.absorb(X, labels)
    head.unlearn(X[:5], labels[:5])
    head.scores(X)
    assert np.array_equal(X, kept)


@exact_heads
@pytest.mark.parametrize("by_class", [False, True], ids=["mixed", "class by class"])
def test_gathered_samples_are_absorbed_as_a_whole(
    make: Callable[[], Head], by_class: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foro.heads.head.PART", 16)
    X, labels = samples(60)
    if by_class:  # so that some labels come in the last part only
        order = np.argsort(labels, kind="stable")
        X, labels = X[order], [labels[each] for each in order]
    head, whole = make(), make()
    whole.absorb(X, labels)
    gathered = gather(head, (X[start : start + 8].astype(np.float32) for start in range(0, 60, 8)), labels)
    assert head.samples == 0
    gathered.absorb_into(head)
    assert head.labels == whole.labels
    assert np.allclose(head.scores(X), whole.scores(X), rtol=1e-4, atol=1e-5)


@every_head
def test_bad_samples_are_one_sentence(make: Callable[[], Head]) -> None:
    head = make()
    for X, labels, said in [
        ([[np.nan] * FEATURES], ["a"], "NaN"),
        ([[1.0]], ["a"], "shape"),
        ([[1.0] * FEATURES], ["a", "b"], "1 samples came with 2 labels"),
        ([[1.0] * FEATURES], [None], "string or an integer"),
        ([[1.0] * FEATURES], [""], "must not be empty"),
    ]:
        with pytest.raises(InputError, match=said):
            head.absorb(X, labels)
    with pytest.raises(InputError, match="nothing has been learned yet"):
        head.scores([[1.0] * FEATURES])


def test_an_unknown_head_is_one_sentence() -> None:
    with pytest.raises(InputError, match="head must be one of ridge, nearest-mean, not 'forest'"):
        find_head("forest")
