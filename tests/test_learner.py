"""What is particular to the learner: policies, presets, the model file, merging, unlearning."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import foro.heads.head
from foro import Learner, load_snapshot
from foro.adaptation.search import Verdict
from foro.backbones import Backbone, load_backbone
from foro.config import PRESETS, LearnerConfig
from foro.errors import BackboneError, FoRoWarning, InputError, ModelFileError, NeverLearnedError
from foro.files import read_model, write_model
from foro.util.interrupts import uninterrupted
from tests.backbones.reference import save_checkpoint, tiny_checkpoint
from tests.conftest import textures

QUICK = {"projection_dim": 64, "generations": 3, "population": 4, "search_images": 32, "search_price": 10.0}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check of an adaptation is passed."""
    monkeypatch.setattr(Verdict, "kept", property(lambda _: True))


def test_presets_are_the_papers_values_and_can_be_overridden() -> None:
    paper = LearnerConfig.from_preset("paper")
    assert (paper.prompt_tokens, paper.population, paper.discrepancy_weight, paper.history_rate) == (3, 6, 0.3, 0.1)
    assert (paper.regularisation, paper.projection_dim, paper.policy, paper.online) == (0.1, 8192, "evolve", True)
    assert (paper.fitness, PRESETS["default"].fitness) == ("both", "few-shot")
    assert (PRESETS["default"].policy, PRESETS["default"].regularisation) == ("freeze", "auto")
    assert LearnerConfig.from_preset("paper", regularisation="auto").regularisation == "auto"
    assert (paper.adaptation, paper.readout, paper.covariance, paper.head) == ("prompt", "cls", "separable", "ridge")
    assert PRESETS["default"].readout == "groups"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"preset": "best"}, "unknown preset 'best'; choose one of default, adapt, paper"),
        ({"gamma": 1}, "unknown setting 'gamma'"),
        ({"policy": "thaw"}, "policy must be one of none, freeze, evolve"),
        ({"fitness": "x"}, "fitness must be both or made of entropy, few-shot, discrepancy"),
        ({"population": 1}, "population must be a whole number of at least 2"),
        ({"generations": "3"}, "generations must be a whole number"),
        ({"prompt_tokens": 1.5}, "prompt_tokens must be a whole number"),
        ({"history_rate": 2.0}, "between 0 and 1"),
        ({"initial_step": float("nan")}, "initial_step must be a number between"),
        ({"seed": None}, "a seed must be a whole number"),
        ({"regularisation": None}, "positive number"),
        ({"online": True}, "online needs policy evolve"),
        ({"regularisation": -1.0}, "positive number"),
        ({"readout": "cls9"}, "readout cls9 needs 9 layers, but vit_random.test has 3"),
        ({"readout": "patches"}, "readout must be groups, cls or cls and a number of layers, not 'patches'"),
        ({"projection_dim": 5}, "readout groups needs a projection_dim of at least 6"),
        ({"adaptation": "weights"}, "adaptation must be one of none, prompt, gains, both"),
        ({"search_price": -1}, "search_price must be a number of at least 0"),
        ({"gain_step": 0}, "gain_step must be a number between"),
        ({"head": "forest"}, "head must be one of ridge, nearest-mean, not 'forest'"),
    ],
)
def test_settings_are_checked(tiny_backbone: Backbone, settings: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Learner(tiny_backbone, **settings)


@pytest.mark.parametrize("adaptation", ["prompt", "gains", "both"])
@pytest.mark.usefixtures("kept")
def test_freeze_evolves_once_and_keeps_the_candidate(tiny_backbone: Backbone, adaptation: str) -> None:
    learner = Learner(tiny_backbone, **QUICK, adaptation=adaptation)
    images, labels = textures(16)
    first = learner.learn(images, labels)
    candidate = learner.candidate
    shapes = {name: each.shape for name, each in candidate.arrays().items()}
    expected = {"prompt": (3, 32), "gains": (3, 3)}
    assert shapes == {name: shape for name, shape in expected.items() if adaptation in (name, "both")}
    assert first.generations == 3
    assert first.forward_passes == 64 + 3 * (4 * 32 + 64) + 64  # neutral, candidates, the check, the features
    assert first.adaptation is not None
    assert first.adaptation.startswith("adapted: cross-entropy ")
    assert first.note is None
    second = learner.learn(images, ["again"] * 64, again=True)
    assert learner.candidate is candidate
    assert (second.generations, second.forward_passes, second.adaptation) == (0, 64, None)
    assert second.new_labels == ("again",)


def test_what_does_not_help_is_not_kept(tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verdict, "kept", property(lambda _: False))
    learner = Learner(tiny_backbone, "adapt", **QUICK)
    images, labels = textures(16)
    report = learner.learn(images, labels)
    assert report.generations == 3
    assert report.adaptation is not None
    assert report.adaptation.startswith("not adapted: ")
    assert learner.candidate.neutral
    assert learner.learn(images, labels, again=True).generations == 0


@pytest.mark.parametrize(("count", "classes"), [(8, 4), (80, 1), (90, 3)])
def test_too_little_to_adapt_on_leaves_features_neutral_and_says_so(
    tiny_backbone: Backbone, count: int, classes: int
) -> None:
    learner = Learner(tiny_backbone, "adapt", **QUICK)
    images, labels = textures(count // classes, classes)
    with pytest.warns(FoRoWarning, match=f"{count} images of {classes} class(es)? are too few"):
        report = learner.learn(images, labels)
    assert "features are not adapted" in report.note
    assert learner.candidate.neutral
    images, labels = textures(16)
    assert learner.learn(images, labels).generations == 0


@pytest.mark.parametrize("adaptation", ["prompt", "gains", "both"])
def test_evolve_moves_candidate_history_and_distribution_with_every_task(
    tiny_backbone: Backbone, adaptation: str
) -> None:
    for settings in ({"policy": "evolve"}, {"policy": "evolve", "online": True, "online_batch": 8}):
        learner = Learner(tiny_backbone, **QUICK, **settings, adaptation=adaptation)
        images, labels = textures(10)
        states = []
        for _ in range(2):
            learner.learn(images, labels, again=True)
            states.append(learner.adaptation)
        assert states[1].tasks == 2
        assert not states[0].candidate.same_as(states[1].candidate)
        for get in (lambda s: s.history.mean, lambda s: s.distribution.mean):
            assert not np.array_equal(get(states[0]), get(states[1]))


def test_online_costs_k_passes_a_sample(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, "paper", projection_dim=64, online_batch=8)
    images, labels = textures(10)
    assert learner.learn(images, labels).forward_passes == 40 + 6 * 40  # the first task also starts the history
    report = learner.learn(images, labels, again=True)
    assert report.forward_passes == 6 * 40
    assert report.generations == 5


def test_long_tasks_are_absorbed_in_parts(tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = textures(50)
    whole = Learner(tiny_backbone, **QUICK, policy="none")
    whole.learn(images, labels)
    monkeypatch.setattr(foro.heads.head, "PART", 64)
    parts = Learner(tiny_backbone, **QUICK, policy="none")
    parts.learn(images, labels)
    assert parts.head.counts == whole.head.counts
    assert np.allclose(parts.scores(images), whole.scores(images), rtol=1e-7, atol=1e-9)


def test_a_long_task_that_fails_in_a_later_part_changes_nothing(
    tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = textures(50)
    monkeypatch.setattr(foro.heads.head, "PART", 64)
    learner = Learner(tiny_backbone, **QUICK, policy="none")
    forward, calls = type(tiny_backbone).forward, []

    def failing(self: Backbone, *arguments: object) -> object:
        calls.append(arguments)
        return forward(self, *arguments) * np.float32(np.nan if len(calls) > 2 else 1)

    monkeypatch.setattr(type(tiny_backbone), "forward", failing)
    with pytest.raises(InputError, match="NaN"):
        learner.learn(images, labels)
    assert learner.head.samples == 0
    assert learner.labels == []


@pytest.mark.usefixtures("kept")
def test_a_blank_learner_has_the_candidate_and_can_be_merged(tiny_backbone: Backbone) -> None:
    images, labels = textures(16)
    one, whole = (Learner(tiny_backbone, "adapt", **QUICK) for _ in range(2))
    for each in (one, whole):
        each.learn(images, labels)
    other = one.blank()
    assert other.labels == []
    assert not one.candidate.neutral
    assert other.candidate.same_as(one.candidate)
    for each in (other, whole):
        each.learn(images, ["again"] * 64, again=True)
    one.merge(other, again=True)
    assert np.allclose(one.scores(images), whole.scores(images), rtol=1e-4, atol=1e-5)


def test_a_task_of_one_class_evolves_nothing_and_says_so(tiny_backbone: Backbone) -> None:
    images, _ = textures(2)
    for settings in ({"policy": "evolve"}, {"preset": "paper"}):
        learner = Learner(tiny_backbone, **{"preset": "adapt", **QUICK, **settings})
        with pytest.warns(FoRoWarning, match="nothing is adapted: a task of one class"):
            learner.learn(images, ["a"] * 8)
        assert learner.candidate.neutral


def test_images_of_every_kind_are_the_same(tiny_backbone: Backbone, tmp_path: Path) -> None:
    from PIL import Image

    images, labels = textures(10)
    for number, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    learners = []
    for kind in (
        images,
        np.stack(images),
        [Image.fromarray(image) for image in images],
        [tmp_path / f"{number}.png" for number in range(40)],
        [str(tmp_path / f"{number}.png") for number in range(40)],
    ):
        learner = Learner(tiny_backbone, **QUICK, policy="none")
        learner.learn(kind, labels)
        learners.append(learner.scores(images))
    assert all(np.array_equal(each, learners[0]) for each in learners)


def test_top_is_sorted_and_agrees_with_predict(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, **QUICK, policy="none")
    images, labels = textures(10)
    learner.learn(images, labels)
    ranked = learner.top(images, 3)
    assert [row[0][0] for row in ranked] == learner.predict(images)
    assert all(len(row) == 3 and row[0][1] >= row[1][1] >= row[2][1] for row in ranked)
    assert len(learner.top(images[:1], 99)[0]) == 4
    assert learner.predict([]) == []


def test_bad_calls_are_one_sentence(tiny_backbone: Backbone) -> None:
    learner = Learner(tiny_backbone, **QUICK, policy="none")
    images, labels = textures(2)
    for wrong, said in [
        ((images, labels[:3]), "8 images came with 3 labels"),
        (([], []), "no image to learn from"),
        ((images, [None] * 8), "string or an integer"),
        (([*images[:7], np.zeros((2, 2, 7), np.uint8)], labels), "shape"),
        (([*images[:7], None], labels), "an image must be a path, a PIL image or an array, not NoneType"),
        ((images, "abcdefgh"), "labels must be a list"),
        ((images, 3), "labels must be a list"),
        ((images, ["caf\udce9"] * 8), "not valid Unicode"),
        (("one.png", ["a"]), "a single one a list of one"),
        ((images[0], ["a"]), "give a single image as a list of one"),
    ]:
        with pytest.raises(InputError, match=said):
            learner.learn(*wrong)
    with pytest.raises(InputError, match="nothing has been learned"):
        learner.predict(images)
    learner.learn(images, labels)
    with pytest.raises(InputError, match="k must be at least 1"):
        learner.top(images, 0)


def test_unlearning_is_exact_and_forgetting_is_final(tiny_backbone: Backbone) -> None:
    images, labels = textures(10)
    learner, never = (Learner(tiny_backbone, **QUICK, policy="none") for _ in range(2))
    learner.learn(images, labels)
    learner.unlearn(images[32:], labels[32:])
    never.learn(images[:32], labels[:32])
    assert np.allclose(learner.head.weights, never.head.weights, rtol=1e-4, atol=1e-5)
    learner.forget("texture 2")
    assert "texture 2" not in learner.predict(images)
    with pytest.raises(InputError, match="was never learned"):
        learner.forget("texture 2")
    with pytest.raises(InputError, match="no sample"):
        learner.unlearn([], [])
    evolving = Learner(tiny_backbone, "adapt", **QUICK, policy="evolve")
    with pytest.raises(InputError, match="unlearning needs policy none or freeze"):
        evolving.unlearn(images, labels)


@pytest.mark.parametrize("readout", ["groups", "cls", "cls3"])
def test_an_image_that_was_learned_among_others_can_be_unlearned_alone(tiny_backbone: Backbone, readout: str) -> None:
    images, labels = textures(10)
    learner = Learner(tiny_backbone, **QUICK, policy="none", readout=readout)
    learner.learn(images, labels)
    for number in (1, 17, 39):
        learner.unlearn([images[number]], [labels[number]])
    assert learner.head.samples == 37


@pytest.mark.parametrize("projection_dim", [512, 64])
def test_an_image_that_was_never_learned_is_named(tiny_backbone: Backbone, tmp_path: Path, projection_dim: int) -> None:
    images, labels = textures(10)
    paths = [tmp_path / f"{number}.png" for number in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    learner = Learner(tiny_backbone, policy="none", projection_dim=projection_dim)
    learner.learn(paths, labels)
    before = learner.head.weights.copy()
    noise = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "foreign.png")
    with pytest.raises(NeverLearnedError, match=r"nothing was unlearned: \S+foreign\.png was never learned") as error:
        learner.unlearn([paths[0], paths[1], tmp_path / "foreign.png", paths[2]], labels[:2] + labels[2:3] * 2)
    assert error.value.positions == (2,)
    assert np.allclose(learner.head.weights, before, rtol=1e-6, atol=1e-9)
    assert learner.head.samples == 40


def test_merging_equals_learning_both(tiny_backbone: Backbone) -> None:
    images, labels = textures(10)
    one, other, both = (Learner(tiny_backbone, **QUICK, policy="none") for _ in range(3))
    one.learn(images[:24], labels[:24])
    other.learn(images[24:], labels[24:])
    both.learn(images, labels)
    one.merge(other)
    assert np.allclose(one.scores(images), both.scores(images), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_merged_says_which(tiny_backbone: Backbone) -> None:
    one = Learner(tiny_backbone, **QUICK, policy="none")
    other_weights = load_backbone(tiny_checkpoint(seed=1), threads=1)
    larger = load_backbone(tiny_checkpoint(), image_size=64, threads=1)
    for other, said in [
        (Learner(other_weights, **QUICK), "backbones differ"),
        (Learner(larger, **QUICK), "image sizes differ"),
        (Learner(tiny_backbone, **QUICK, readout="cls2"), "readouts differ"),
        (Learner(tiny_backbone, **QUICK, head="nearest-mean"), "heads differ"),
        (Learner(tiny_backbone, **QUICK, seed=1), "projections differ"),
    ]:
        with pytest.raises(InputError, match=said):
            one.merge(other)
    images, labels = textures(10)
    one.learn(images, labels)
    evolved = Learner(tiny_backbone, "adapt", **QUICK, policy="evolve")
    evolved.learn(images, labels)
    with pytest.raises(InputError, match="adaptations differ"):
        one.merge(evolved)


def test_model_file_finds_its_backbone_and_refuses_another(tmp_path: Path) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path / "vit")
    learner = Learner(folder, **QUICK, policy="none")
    images, labels = textures(10)
    learner.learn(images, labels)
    learner.save(tmp_path / "model")
    assert Learner.load(tmp_path / "model").predict(images) == learner.predict(images)
    with pytest.raises(ModelFileError, match=r"was taught with vit_random\.test \(weights .*, not with"):
        Learner.load(tmp_path / "model", load_backbone(tiny_checkpoint(seed=1)))
    with pytest.raises(InputError, match="loaded for 64 pixels, not for 32"):
        Learner.load(tmp_path / "model", load_backbone(tiny_checkpoint(), image_size=64))
    folder.rename(tmp_path / "moved")
    with pytest.raises(BackboneError, match=r"needs vit_random\.test; say where it is"):
        Learner.load(tmp_path / "model")
    assert Learner.load(tmp_path / "model", tmp_path / "moved").predict(images) == learner.predict(images)


def test_incomplete_and_truncated_model_files_are_refused(tiny_backbone: Backbone, tmp_path: Path) -> None:
    learner = Learner(tiny_backbone, **QUICK, policy="none")
    images, labels = textures(10)
    learner.learn(images, labels)
    learner.save(tmp_path / "model")
    arrays, metadata = read_model(tmp_path / "model")
    for name in arrays:
        write_model(tmp_path / "fewer", {key: value for key, value in arrays.items() if key != name}, metadata)
        read = load_snapshot if "familiarity" in name else Learner.load  # of which predicting alone reads some
        with pytest.raises(ModelFileError, match="lacks a part of its model"):
            read(tmp_path / "fewer", tiny_backbone)
    for name, value in [("labels", ["a"]), ("features", 7)]:
        write_model(tmp_path / "changed", arrays, {**metadata, "encoder": {**metadata["encoder"], name: value}})
        with pytest.raises(ModelFileError, match="is not a model of one piece"):
            Learner.load(tmp_path / "changed", tiny_backbone)
    write_model(tmp_path / "changed", arrays, {**metadata, "config": {**metadata["config"], "policy": "thaw"}})
    with pytest.raises(ModelFileError, match="policy must be one of"):
        Learner.load(tmp_path / "changed", tiny_backbone)
    for name in ("backbone", "config", "encoder"):
        write_model(tmp_path / "fewer", arrays, {key: value for key, value in metadata.items() if key != name})
        with pytest.raises(ModelFileError, match="lacks a part of its model"):
            Learner.load(tmp_path / "fewer", tiny_backbone)
    whole = (tmp_path / "model").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        Learner.load(tmp_path / "cut", tiny_backbone)


def test_an_image_size_can_be_chosen(tmp_path: Path) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path / "vit")
    learner = Learner(folder, image_size=48, **QUICK, policy="none")
    assert learner.backbone.image_size == 48
    images, labels = textures(10)
    learner.learn(images, labels)
    learner.save(tmp_path / "model")
    assert Learner.load(tmp_path / "model").backbone.image_size == 48


def test_ctrl_c_waits_for_a_change_to_end() -> None:
    reached = []

    def change() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        change()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.shared
def test_a_real_backbone_learns_real_images_without_forgetting(vit_tiny: Path, shared_data: Path) -> None:
    data = np.fromfile(shared_data / "cifar-100-binary" / "train.bin", np.uint8).reshape(-1, 3074)
    chosen = np.concatenate([np.flatnonzero(data[:, 1] == label)[:18] for label in range(6)])
    images = data[chosen, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    labels = data[chosen, 1].tolist()
    train = np.arange(len(chosen)) % 18 < 12
    learner = Learner(vit_tiny, image_size=112, policy="none", projection_dim=1024)
    for task in ((0, 1, 2), (3, 4, 5)):
        mine = [i for i in np.flatnonzero(train) if labels[i] in task]
        learner.learn(images[mine], [labels[i] for i in mine])
    tested = np.flatnonzero(~train)
    predicted = learner.predict(images[tested])
    assert np.mean([predicted[i] == labels[j] for i, j in enumerate(tested)]) > 0.6
