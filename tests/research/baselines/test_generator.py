"""The diffusion model: it learns to denoise, its classes differ, and old ones stay when new ones come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from foro.backbones import Backbone
from foro.errors import BackboneError, InputError
from foro.research.baselines.dsg import Dsg, DsgSettings
from foro.research.baselines.generator import Generator
from foro.research.baselines.text_to_image import in_words, text_to_image

pytestmark = pytest.mark.torch

SETTINGS = DsgSettings(
    epochs=10,
    batch_size=16,
    optimiser="adamw",
    learning_rate=2e-3,
    crop_area=1.0,
    flip=False,
    generator_epochs=40,
    generator_batch_size=16,
    generator_learning_rate=3e-3,
    generator_size=8,
    generator_channels="16,32",
    generator_layers=1,
    noise_steps=100,
    sampling_steps=10,
    replay_per_class=8,
)


def blobs(kinds: list[int], per_class: int = 16, seed: int = 0) -> tuple[list[NDArray[np.uint8]], NDArray[np.intp]]:
    """Small images with a bright corner, whose place is their class."""
    random = np.random.default_rng(seed)
    targets = np.tile(kinds, per_class)
    images = []
    for kind in targets:
        image = random.normal(60, 12, (8, 8, 3))
        row, column = 4 * (kind // 2), 4 * (kind % 2)
        image[row : row + 4, column : column + 4] += 120
        images.append(np.uint8(np.clip(image, 0, 255)))
    return images, targets


def generator() -> Generator:
    import torch

    return Generator(SETTINGS, 0, torch.device("cpu"))


def told_apart(images: list[NDArray[np.uint8]], targets: NDArray[np.intp], kinds: list[int]) -> float:
    """Share of images that a classifier of real ones takes for what they should be."""
    real, truth = blobs(kinds, seed=9)
    judge = LogisticRegression(max_iter=200).fit(np.reshape(real, (len(real), -1)) / 255.0, truth)
    return float(judge.score(np.reshape(images, (len(images), -1)) / 255.0, targets))


def test_learns_to_denoise_and_keeps_old_classes_when_new_ones_come() -> None:
    made = generator()
    images, targets = blobs([0, 1])
    made.grow(2)
    cost = made.learn(images, targets, [], targets[:0], (0,))
    assert cost.losses[-1] < 0.5 * cost.losses[0]
    assert (cost.forward_passes, cost.backward_passes) == (0, 0)  # none of them through the backbone

    wanted = np.repeat([0, 1], 10)
    samples = made.sample(wanted, (1,))
    assert np.shape(samples) == (20, 8, 8, 3)
    assert told_apart(samples, wanted, [0, 1]) > 0.9
    assert np.array_equal(samples, made.sample(wanted, (1,)))
    assert not np.array_equal(samples, made.sample(wanted, (2,)))

    embedding = made.unet.class_embedding.weight.detach().clone()
    made.grow(4)
    assert made.unet.class_embedding.weight.shape[0] == 4
    assert (made.unet.class_embedding.weight[:2] == embedding).all()
    more, their_targets = blobs([2, 3])
    made.learn(more, their_targets, samples, wanted, (3,))
    every = np.repeat([0, 1, 2, 3], 8)
    assert told_apart(made.sample(every, (4,)), every, [0, 1, 2, 3]) > 0.8


def test_a_generator_is_its_arrays() -> None:
    first, second = generator(), generator()
    images, targets = blobs([0, 1], per_class=2)
    first.grow(2)
    first.learn(images, targets, [], targets[:0], (0,))
    second.restore(first.arrays("g."), "g.", 2)
    assert np.array_equal(first.sample(targets, (0,)), second.sample(targets, (0,)))


def test_replays_as_many_images_as_it_is_told(tiny_backbone: Backbone) -> None:
    small: dict[str, Any] = {**vars(SETTINGS), "generator_epochs": 1, "epochs": 1, "sampling_steps": 1}
    for per_class, replayed in ((3, 6), (None, 8)):  # None: as many as a new class has
        method = Dsg.build(tiny_backbone, {**small, "replay_per_class": per_class}, 0)
        images, targets = blobs([0, 1], per_class=4)
        first = method.learn(images, targets.tolist())
        second = method.learn(images, (targets + 2).tolist())
        assert first.note is not None
        assert first.note.startswith("0 generated images")
        assert second.note is not None
        assert second.note.startswith(f"{replayed} generated images")
        assert second.forward_passes == len(images) + replayed
        again = method.learn(images, (targets + 2).tolist())  # only what is not in the task is replayed
        assert again.forward_passes == len(images) + replayed


def test_labels_are_put_into_words() -> None:
    assert in_words("001.Black_footed_Albatross") == "Black footed Albatross"
    assert in_words(7) == "7"
    with pytest.raises(InputError, match="does not know what the WordNet id n01443537 is"):
        in_words("n01443537")


def test_a_text_to_image_model_that_is_not_there_is_one_sentence(
    tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BackboneError, match=r"nobody/nothing (cannot be loaded|needs more packages)") as caught:
        text_to_image("nobody/nothing", ["cat"], "a photo of a {}", 1, (0,))
    assert "\n" not in str(caught.value)
    method = Dsg.build(tiny_backbone, {**vars(SETTINGS), "pipeline": "nobody/nothing", "epochs": 1}, 0)
    assert method.generator is None
    images, targets = blobs([0, 1], per_class=2)
    method.learn(images, targets.tolist())  # nothing to replay yet
    with pytest.raises(BackboneError, match="nobody/nothing"):
        method.learn(images, (targets + 2).tolist())
