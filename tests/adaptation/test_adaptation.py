"""What each policy makes of a task, for prompts, gains and both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foro.adaptation.adaptation import Adaptation, TaskAdaptation, _plan, _too_few
from foro.adaptation.search import FEWEST_CLASSES, Verdict, hold_classes_out
from foro.backbones import Backbone
from foro.config import LearnerConfig
from foro.features.candidate import NEUTRAL, Candidate
from foro.features.extractor import BATCH, Extractor
from foro.features.readout import Readout
from foro.features.sample import LocalSample
from foro.heads.projection import RandomProjection
from tests.conftest import textures

QUICK = {"adaptation": "gains", "generations": 3, "population": 4, "search_images": 32, "search_price": 10.0}
KINDS = ["prompt", "gains", "both"]
every_kind = pytest.mark.parametrize("kind", KINDS)


def adapting(backbone: Backbone, before: Adaptation | None = None, seed: int = 0, **settings: Any) -> TaskAdaptation:
    config = LearnerConfig.from_preset(**{**QUICK, **settings})
    readout = Readout.of(config.readout, backbone)
    projection = RandomProjection.draw(readout.features, 64, "relu", 0, readout.blocks(64))
    return TaskAdaptation(Extractor(backbone), readout, projection, config, before or Adaptation(), seed)


def kinds_of(candidate: Candidate) -> str:
    """Which of its parts a candidate has."""
    names = [name for name in ("prompt", "gains") if getattr(candidate, name) is not None]
    return "both" if len(names) == 2 else "".join(names)


def check_features(task: TaskAdaptation, images: list[Any], labels: list[Any], candidate: Candidate) -> None:
    """Features are those of the candidate to the last digit, which differs between sizes of batches."""
    extractor = Extractor(task.extractor.backbone)
    starts = range(0, len(images), BATCH)
    for start, features in zip(starts, task.features(images, labels), strict=True):
        layers = extractor.sample(images[start : start + BATCH]).layers(candidate)
        assert np.array_equal(features, task.readout(layers))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check is passed."""
    monkeypatch.setattr(Verdict, "kept", property(lambda _: True))


@every_kind
@pytest.mark.usefixtures("kept")
def test_freeze_keeps_the_mean_that_gains_most(tiny_backbone: Backbone, kind: str) -> None:
    task = adapting(tiny_backbone, adaptation=kind)
    images, labels = textures(16)
    task.prepare(images, labels)
    found = task.adaptation
    assert kinds_of(found.candidate) == kind
    assert found.settled
    assert task.generations == 3
    assert found.distribution is not None
    assert found.candidate.same_as(task.space.candidate(found.distribution.mean))
    # Neutral, candidates on half of the classes, and after each generation the check, on 64 images in all.
    assert task.extractor.forward_passes == 64 + 3 * (4 * 32 + 64)
    assert str(task.verdict).startswith("adapted: ")
    check_features(task, images, labels, found.candidate)
    second = adapting(tiny_backbone, found, adaptation=kind)
    second.prepare(images, labels)
    assert (second.generations, second.verdict, second.note) == (0, None, None)
    assert second.adaptation.candidate is found.candidate
    assert second.adaptation.tasks == 2


@every_kind
def test_what_does_not_help_unseen_classes_is_not_kept(
    tiny_backbone: Backbone, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Verdict, "kept", property(lambda _: False))
    task = adapting(tiny_backbone, adaptation=kind)
    task.prepare(*textures(16))
    assert task.adaptation.candidate is NEUTRAL
    assert task.adaptation.settled
    assert task.adaptation.distribution is None
    assert task.generations == 3
    assert str(task.verdict).startswith("not adapted: ")


def test_the_check_is_on_classes_that_the_search_did_not_see(
    tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[list[Any]] = []
    searched: list[int] = []
    usual, usual_judge = TaskAdaptation._fitness, LocalSample.judge

    def fitness(self: TaskAdaptation, layers: Any, labels: list[Any], history: Any) -> Any:
        judged.append(labels)
        assert len(layers) == len(labels)
        return usual(self, layers, labels, history)

    def judge(self: LocalSample, each: Any, positions: Any) -> Any:
        searched.extend(positions)
        return usual_judge(self, each, positions)

    monkeypatch.setattr(TaskAdaptation, "_fitness", fitness)
    monkeypatch.setattr(LocalSample, "judge", judge)
    images, labels = textures(20, classes=6)
    adapting(tiny_backbone, search_price=20.0).prepare(images, labels)
    seen, checked = judged
    assert set(checked) == set(labels)  # new classes are judged among all
    assert len(set(seen)) == 4  # two thirds of six
    assert len(searched) == len(seen) == 32
    assert len(checked) == 64


@pytest.mark.parametrize("seed", range(3))
def test_of_the_fewest_classes_two_are_searched_on_and_the_others_decide_too(
    tiny_backbone: Backbone, seed: int
) -> None:
    images, labels = textures(20, classes=FEWEST_CLASSES)
    task = adapting(tiny_backbone, seed=seed)
    held = hold_classes_out(labels, np.random.default_rng(seed))
    searched, checked = task._cut(labels, held, 32)
    assert {labels[each] for each in searched} == set(labels) - held
    assert len(held) == len(set(labels) - held) == 2
    assert held < {labels[each] for each in checked}
    assert not set(searched) & set(checked)
    task.prepare(images, labels)
    assert task.verdict is not None


@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_is_of_what_was_found(tiny_backbone: Backbone, kind: str) -> None:
    """Whatever the check says is done, and repeats under a seed."""
    images, labels = textures(24, classes=6)
    noise = np.random.default_rng(0)  # or two classes are told apart without any doubt, which cannot be bettered
    images = [np.uint8(np.clip(image + noise.normal(0, 150, image.shape), 0, 255)) for image in images]
    tasks = [adapting(tiny_backbone, adaptation=kind, seed=seed, search_price=20.0) for seed in (1, 1, 2)]
    for task in tasks:
        task.prepare(images, labels)
        assert task.verdict is not None
        assert task.adaptation.candidate.neutral == (not task.verdict.kept)
    assert tasks[0].verdict == tasks[1].verdict
    assert tasks[0].verdict != tasks[2].verdict
    assert tasks[0].adaptation.candidate.same_as(tasks[1].adaptation.candidate)


@pytest.mark.parametrize(("per_class", "classes"), [(2, 4), (40, 1), (30, 3), (15, 4)])
def test_too_little_to_judge_leaves_features_neutral_and_says_what_to_do(
    tiny_backbone: Backbone, per_class: int, classes: int
) -> None:
    task = adapting(tiny_backbone, search_price=1000.0)
    images, labels = textures(per_class, classes)
    task.prepare(images, labels)
    assert task.adaptation.candidate.neutral
    assert task.adaptation.settled
    assert task.verdict is None
    assert task.extractor.forward_passes == task.generations == 0
    assert task.note is not None
    named = "1 class" if classes == 1 else f"{classes} classes"
    assert f"features are not adapted: {len(labels)} images of {named} are too few to judge that" in task.note
    assert "which takes 64 images of 4 classes; for that, teach a new model with more in its first lesson" in task.note


@pytest.mark.parametrize(("price", "searches"), [(0.0, False), (9.9, False), (10.0, True)])
def test_a_search_that_would_cost_too_much_is_not_begun(tiny_backbone: Backbone, price: float, searches: bool) -> None:
    task = adapting(tiny_backbone, search_price=price)
    task.prepare(*textures(16))  # 32 images: 3 generations of 4 candidates and a check, 10 passes of the 64
    assert (task.generations > 0) == searches
    assert (task.note is None) == searches
    if price == 0:
        assert task.note == "features are not adapted: with search_price 0 nothing is searched"


@given(
    price=st.floats(0.1, 200),
    images=st.integers(16, 500),
    generations=st.integers(1, 60),
    kind=st.sampled_from(KINDS),
)
def test_what_a_message_asks_for_is_enough_and_less_is_not(
    price: float, images: int, generations: int, kind: str
) -> None:
    config = LearnerConfig(adaptation=kind, search_price=price, search_images=images, generations=generations)  # type: ignore[arg-type]
    text = _too_few(config, 1, 1)
    enough = int(text.split("takes ")[1].split()[0])
    assert _plan(config, enough, FEWEST_CLASSES) is not None
    assert _plan(config, enough - 1, FEWEST_CLASSES) is None
    assert _plan(config, enough, FEWEST_CLASSES - 1) is None


@every_kind
@pytest.mark.parametrize("online", [False, True])
def test_evolve_moves_on_with_every_task(tiny_backbone: Backbone, kind: str, online: bool) -> None:
    images, labels = textures(10)
    before = Adaptation()
    states = []
    for _ in range(2):
        task = adapting(
            tiny_backbone, before, adaptation=kind, policy="evolve", online=online, online_batch=8, fitness="both"
        )
        task.prepare(images, labels)
        features = np.concatenate(list(task.features(images, labels)))
        assert features.shape == (40, task.readout.features)
        assert task.generations == (5 if online else 3)
        before = task.adaptation
        states.append(before)
        assert kinds_of(before.candidate) == kind
        assert before.settled
    assert states[1].tasks == 2
    assert not states[0].candidate.same_as(states[1].candidate)
    for get in (lambda each: each.history.mean, lambda each: each.distribution.mean):
        assert not np.array_equal(get(states[0]), get(states[1]))


@pytest.mark.parametrize("online", [False, True])
def test_a_task_of_one_class_evolves_nothing_and_says_so(tiny_backbone: Backbone, online: bool) -> None:
    task = adapting(tiny_backbone, policy="evolve", online=online)
    images, _ = textures(2)
    task.prepare(images, ["a"] * 8)
    assert task.note is not None
    assert "a task of one class says nothing" in task.note
    assert task.adaptation.candidate.neutral
    assert len(np.concatenate(list(task.features(images, ["a"] * 8)))) == 8


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "none"},
        {"adaptation": "none"},
        {"adaptation": "none", "policy": "evolve"},
        {"adaptation": "none", "policy": "evolve", "online": True},
    ],
    ids=str,
)
def test_without_adaptation_nothing_is_searched(tiny_backbone: Backbone, settings: dict[str, Any]) -> None:
    task = adapting(tiny_backbone, **settings)
    images, labels = textures(16)
    task.prepare(images, labels)
    check_features(task, images, labels, NEUTRAL)
    assert task.extractor.forward_passes == 64
    assert (task.note, task.verdict, task.generations) == (None, None, 0)
    assert task.adaptation.candidate.neutral
    assert task.adaptation.settled


def test_population_and_covariance_suit_what_is_evolved(tiny_backbone: Backbone) -> None:
    for kind, population in (("prompt", 6), ("gains", 12), ("both", 6)):
        assert adapting(tiny_backbone, adaptation=kind, population=None).population == population
        assert adapting(tiny_backbone, adaptation=kind, population=5).population == 5
    space = adapting(tiny_backbone, adaptation="both", initial_step=0.5, gain_step=0.2).space
    assert (space.size, space.prompt_step, space.gain_step) == (3 * 32 + 3 * 3, 0.5, 0.2)


@every_kind
@pytest.mark.usefixtures("kept")
def test_state_is_everything(tiny_backbone: Backbone, kind: str) -> None:
    task = adapting(tiny_backbone, adaptation=kind)
    task.prepare(*textures(16))
    arrays, settings = task.adaptation.state()
    again = Adaptation.from_state(arrays, settings)
    assert again.candidate.same_as(task.adaptation.candidate)
    assert (again.settled, again.tasks) == (True, 1)
    for name in ("history", "distribution"):
        one, other = getattr(again, name), getattr(task.adaptation, name)
        assert np.array_equal(one.mean, other.mean)
        assert np.array_equal(one.deviation, other.deviation)
    empty = Adaptation.from_state(*Adaptation().state())
    assert empty == Adaptation() or (empty.candidate.neutral and empty.history is None and not empty.settled)
