"""The training loop: it lowers the loss, repeats under a seed, and counts what it did."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from foro.errors import InputError
from foro.images.preprocessing import Preprocessing
from foro.research.baselines.baseline import BaselineSettings
from foro.research.baselines.training import TrainCost, TrainingSettings, augment, train
from tests.conftest import textures

PIXELS = Preprocessing(16, 0.9, "center", "bicubic", (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
SHORT = TrainingSettings(epochs=8, batch_size=10, optimiser="adamw", learning_rate=1e-2, crop_area=0.8)


def taught(settings: TrainingSettings = SHORT, seed: tuple[int, ...] = (0,), **more: Any) -> tuple[Any, TrainCost]:
    """The weights of a small network that learned textures, and what it took."""
    import torch

    images, labels = textures(8)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 5, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(4)
        )
        model(torch.zeros(1, 3, 16, 16))
    targets = [int(label[-1]) for label in labels]
    loss = torch.nn.CrossEntropyLoss()
    cost = train(
        model.parameters(),
        lambda pixels, wanted: loss(model(pixels), wanted),
        images,
        targets,
        settings,
        seed,
        PIXELS,
        **more,
    )
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach(), cost


@pytest.mark.torch
@pytest.mark.parametrize("optimiser", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_lowers_the_loss_and_counts_the_passes(optimiser: str, schedule: str) -> None:
    rate = 0.05 if optimiser == "sgd" else 0.01
    settings = replace(SHORT, optimiser=optimiser, schedule=schedule, learning_rate=rate)
    _, cost = taught(settings, forwards=3, backwards=2)
    assert len(cost.losses) == 8
    assert cost.losses[-1] < 0.7 * cost.losses[0]
    assert (cost.forward_passes, cost.backward_passes) == (3 * 8 * 32, 2 * 8 * 32)
    assert cost.seconds > 0
    both = cost + cost
    assert both.forward_passes == 2 * cost.forward_passes
    assert both.losses == cost.losses * 2
    assert both.note == cost.note


@pytest.mark.torch
def test_a_seed_repeats_whatever_torch_did_before() -> None:
    import torch

    one, first = taught()
    torch.rand(7)
    same, second = taught()
    other, _ = taught(seed=(1,))
    assert torch.equal(one, same)
    assert first.losses == second.losses
    assert not torch.equal(one, other)


@pytest.mark.torch
def test_a_clipped_gradient_moves_less_and_no_learning_rate_not_at_all() -> None:
    import torch

    plain = replace(SHORT, optimiser="sgd", epochs=1, batch_size=32, weight_decay=0.0)
    still, _ = taught(replace(plain, learning_rate=0.0))
    free, _ = taught(replace(plain, clip_norm=None))
    clipped, _ = taught(replace(plain, clip_norm=1e-3))
    assert torch.norm(clipped - still) < 1.01e-3 * plain.learning_rate
    assert torch.norm(free - still) > 10 * torch.norm(clipped - still)


@given(seed=st.integers(0, 99), area=st.floats(0.05, 1), width=st.integers(1, 90), height=st.integers(1, 90))
def test_an_augmented_image_shows_only_what_is_in_it(seed: int, area: float, width: int, height: int) -> None:
    values = np.random.default_rng(seed).integers(60, 200, (height, width, 3), np.uint8)
    image = Image.fromarray(values)
    pixels, again = (augment(image, PIXELS, area, True, np.random.default_rng(seed)) for _ in range(2))
    assert pixels.shape == (3, 16, 16)
    assert pixels.dtype == np.float32
    assert np.array_equal(pixels, again)
    assert np.isfinite(pixels).all()
    assert np.abs(pixels).max() <= 1


def test_all_of_an_image_without_mirroring_is_what_testing_sees() -> None:
    image = Image.fromarray(textures(1)[0][0])
    random = np.random.default_rng(0)
    assert np.array_equal(augment(image, PIXELS, 1.0, False, random), PIXELS(image))
    whole = replace(PIXELS, crop_pct=1.0)
    seen = [augment(image, whole, 1.0, True, random) for _ in range(20)]
    plain = [bool(np.array_equal(each, whole(image))) for each in seen]
    assert 0 < sum(plain) < 20
    for each, as_it_is in zip(seen, plain, strict=True):
        assert as_it_is or np.allclose(each[:, :, ::-1], whole(image), atol=0.02)


def test_settings_are_checked() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"epochs": 2.5}, "epochs must be a whole number of at least 1, not 2.5"),
        ({"learning_rate": "high"}, "learning_rate must be a number of at least 0, not 'high'"),
        ({"crop_area": 2}, "crop_area must be a number between 0.01 and 1, not 2"),
        ({"optimiser": "lion"}, "optimiser must be one of sgd, adam, adamw, not 'lion'"),
        ({"flip": 1}, "flip must be true or false, not 1"),
        ({"preset": "slow"}, "preset must be one of published, fast, not 'slow'"),
    ]
    for values, message in wrong:
        with pytest.raises(InputError, match=message):
            TrainingSettings(**values)
    assert TrainingSettings(clip_norm=None, learning_rate=1).clip_norm is None
    assert BaselineSettings().preset == "published"
