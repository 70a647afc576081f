"""What every runtime must keep, in every precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foro.backbones import Backbone, load_backbone
from foro.errors import BackboneError, InputError
from tests.backbones.reference import tiny_checkpoint

torch_only = pytest.mark.torch
RUNTIMES = [
    pytest.param({"runtime": "onnx"}, id="onnx-float32"),
    pytest.param({"runtime": "onnx", "precision": "int8"}, id="onnx-int8"),
    pytest.param({"runtime": "torch", "device": "cpu"}, id="torch-float32", marks=torch_only),
]
# Runtimes block matrix products by their size, so that the last digits may differ; nothing more may.
SAME = {"rtol": 1e-4, "atol": 2e-5}


@pytest.fixture(scope="module", params=RUNTIMES)
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


@pytest.fixture(scope="module")
def backbone(options: dict[str, Any]) -> Backbone:
    return load_backbone(tiny_checkpoint(), **options)


@pytest.fixture(scope="module")
def pixels() -> np.ndarray:
    # Images of very different ranges, which a scale shared by the batch would show.
    scales = np.array([0.1, 1, 3, 10, 1], np.float32)[:, None, None, None]
    return np.random.default_rng(0).standard_normal((5, 3, 32, 32)).astype(np.float32) * scales


@pytest.fixture(scope="module")
def prompts() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((4, 3, 32)).astype(np.float32)


@pytest.fixture(scope="module")
def gains() -> np.ndarray:
    return (0.3 * np.random.default_rng(2).standard_normal((4, 3, 3))).astype(np.float32)


def test_shapes(backbone: Backbone, pixels: np.ndarray, prompts: np.ndarray, gains: np.ndarray) -> None:
    tokens = backbone.embed(pixels)
    assert (backbone.dim, backbone.depth, backbone.outputs, backbone.image_size) == (32, 3, 4, 32)
    assert backbone.name == "vit_random.test"
    assert (tokens.shape, tokens.dtype) == ((5, 17, 32), np.float32)
    for prompt, gain, candidates in (
        (None, None, 1),
        (prompts, None, 4),
        (prompts[:, :0], None, 4),
        (None, gains, 4),
        (prompts, gains, 4),
    ):
        read = backbone.forward(tokens, prompt, gain)
        assert (read.shape, read.dtype) == ((candidates, 5, 4, 32), np.float32)


def test_no_image_depends_on_its_batch(
    backbone: Backbone, pixels: np.ndarray, prompts: np.ndarray, gains: np.ndarray
) -> None:
    tokens = backbone.embed(pixels)
    alone = np.concatenate([backbone.embed(image[None]) for image in pixels])
    np.testing.assert_allclose(alone, tokens, **SAME)
    for gain in (None, gains):
        together = backbone.forward(tokens, prompts, gain)
        alone = np.concatenate([backbone.forward(token[None], prompts, gain) for token in tokens], axis=1)
        np.testing.assert_allclose(alone, together, **SAME)


def test_candidates_at_once_are_one_by_one(
    backbone: Backbone, pixels: np.ndarray, prompts: np.ndarray, gains: np.ndarray
) -> None:
    tokens = backbone.embed(pixels)
    one_by_one = np.concatenate([backbone.forward(tokens, prompt[None]) for prompt in prompts])
    np.testing.assert_allclose(backbone.forward(tokens, prompts), one_by_one, **SAME)
    pairs = zip(prompts, gains, strict=True)
    one_by_one = np.concatenate([backbone.forward(tokens, prompt[None], gain[None]) for prompt, gain in pairs])
    np.testing.assert_allclose(backbone.forward(tokens, prompts, gains), one_by_one, **SAME)


def test_an_empty_prompt_is_no_prompt(backbone: Backbone, pixels: np.ndarray) -> None:
    tokens = backbone.embed(pixels)
    empty = np.empty((1, 0, 32), np.float32)
    np.testing.assert_array_equal(backbone.forward(tokens, empty), backbone.forward(tokens))


def test_gains_of_zero_are_no_gains(backbone: Backbone, pixels: np.ndarray, prompts: np.ndarray) -> None:
    tokens, zero = backbone.embed(pixels), np.zeros((4, 3, 3), np.float32)
    np.testing.assert_allclose(backbone.forward(tokens, prompts, zero), backbone.forward(tokens, prompts), **SAME)
    np.testing.assert_allclose(backbone.forward(tokens, None, zero[:1]), backbone.forward(tokens), **SAME)
    np.testing.assert_allclose(backbone.with_gains(zero[0]).forward(tokens), backbone.forward(tokens), **SAME)


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("block", [0, 1, 2])
def test_a_gain_changes_what_comes_after_it(backbone: Backbone, pixels: np.ndarray, block: int, kind: int) -> None:
    tokens, gains = backbone.embed(pixels), np.zeros((1, 3, 3), np.float32)
    gains[0, block, kind] = 0.5
    difference = np.abs(backbone.forward(tokens, None, gains) - backbone.forward(tokens)).max(axis=(0, 1, 3))
    after = [block <= layer for layer in (0, 1, 2, 1)]  # the mean patch token is of the second block
    assert [bool(each > 1e-2) for each in difference] == after


def test_gains_in_the_weights_are_gains(
    backbone: Backbone, options: dict[str, Any], pixels: np.ndarray, prompts: np.ndarray, gains: np.ndarray
) -> None:
    tokens = backbone.embed(pixels)
    unfolded = backbone.forward(tokens, prompts, gains)
    assert backbone.with_gains(None) is backbone
    for number, gain in enumerate(gains):
        twin = backbone.with_gains(gain)
        assert backbone.with_gains(gain.copy()) is twin  # made once
        assert (twin.fingerprint, twin.name, twin.outputs) == (backbone.fingerprint, backbone.name, backbone.outputs)
        np.testing.assert_array_equal(twin.embed(pixels), tokens)
        a, b = twin.forward(tokens, prompts[number : number + 1])[0], unfolded[number]
        if options.get("precision") == "int8":  # scaled weights are rounded anew
            cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
            assert cosine.min() > 0.99
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=5e-5)
    # What was folded last is replaced, and neither the backbone nor an earlier twin changes.
    first, last = backbone.with_gains(gains[0]), backbone.with_gains(gains[1])
    assert not np.array_equal(first.forward(tokens), last.forward(tokens))
    assert not np.array_equal(backbone.forward(tokens), last.forward(tokens))


def test_gains_upon_gains_add_up(backbone: Backbone, gains: np.ndarray) -> None:
    twice = backbone.with_gains(gains[0]).with_gains(gains[1])
    expected = tiny_checkpoint().with_gains(gains[0]).with_gains(gains[1])
    found: Any = twice.checkpoint()  # type: ignore[attr-defined]
    for name, tensor in expected.tensors.items():
        np.testing.assert_allclose(found.tensors[name], tensor, rtol=1e-6)
    assert twice.with_gains(gains[1]) is not twice
    again: Any = backbone.with_gains(gains[0]).checkpoint()  # type: ignore[attr-defined]
    np.testing.assert_array_equal(
        again.tensors["blocks.0.mlp.fc2.weight"],
        tiny_checkpoint().with_gains(gains[0]).tensors["blocks.0.mlp.fc2.weight"],
    )


def test_a_prompt_changes_every_layer(backbone: Backbone, pixels: np.ndarray, prompts: np.ndarray) -> None:
    tokens = backbone.embed(pixels)
    difference = np.abs(backbone.forward(tokens, prompts) - backbone.forward(tokens)).max(axis=(1, 3))
    assert (difference > 1e-3).all()


def test_the_same_twice(backbone: Backbone, options: dict[str, Any], pixels: np.ndarray, prompts: np.ndarray) -> None:
    again = load_backbone(tiny_checkpoint(), **options)
    tokens = backbone.embed(pixels)
    np.testing.assert_array_equal(again.embed(pixels), tokens)
    np.testing.assert_array_equal(again.forward(tokens, prompts), backbone.forward(tokens, prompts))


def test_arrays_of_the_caller_are_not_touched(
    backbone: Backbone, pixels: np.ndarray, prompts: np.ndarray, gains: np.ndarray
) -> None:
    pixels, prompts, gains = pixels.copy(), prompts.copy(), gains.copy()
    kept = pixels.copy(), prompts.copy(), gains.copy()
    tokens = backbone.embed(pixels)
    kept_tokens = tokens.copy()
    backbone.forward(tokens, prompts, gains)
    backbone.with_gains(gains[0])
    for before, after in zip((*kept, kept_tokens), (pixels, prompts, gains, tokens), strict=True):
        np.testing.assert_array_equal(before, after)


def test_read_only_and_strided_arrays_work(backbone: Backbone, pixels: np.ndarray) -> None:
    frozen = pixels.copy()
    frozen.flags.writeable = False
    expected = backbone.embed(pixels)
    np.testing.assert_array_equal(backbone.embed(frozen), expected)
    np.testing.assert_allclose(backbone.embed(pixels[::2]), expected[::2], **SAME)
    np.testing.assert_array_equal(backbone.embed(pixels.astype(np.float64)), expected)


def test_nothing_in_nothing_out(backbone: Backbone, prompts: np.ndarray, gains: np.ndarray) -> None:
    tokens = backbone.embed(np.empty((0, 3, 32, 32), np.float32))
    assert tokens.shape == (0, 17, 32)
    assert backbone.forward(tokens).shape == (1, 0, 4, 32)
    assert backbone.forward(tokens, prompts).shape == (4, 0, 4, 32)
    assert backbone.forward(tokens, prompts, gains).shape == (4, 0, 4, 32)


def test_the_fingerprint_is_of_the_weights_and_their_precision(backbone: Backbone, options: dict[str, Any]) -> None:
    suffix = "-int8" if options.get("precision") == "int8" else ""
    assert backbone.fingerprint == tiny_checkpoint().fingerprint + suffix
    assert load_backbone(tiny_checkpoint(), **options, image_size=48).fingerprint == backbone.fingerprint
    assert load_backbone(tiny_checkpoint(seed=1), **options).fingerprint != backbone.fingerprint


def test_bad_inputs_are_explained(backbone: Backbone, pixels: np.ndarray, prompts: np.ndarray) -> None:
    tokens = backbone.embed(pixels)
    with pytest.raises(InputError, match=r"Pixels must have shape \(n, 3, 32, 32\), not \(5, 3, 16, 32\)"):
        backbone.embed(pixels[:, :, ::2])
    with pytest.raises(InputError, match="floating point, not uint8"):
        backbone.embed(np.zeros((1, 3, 32, 32), np.uint8))
    with pytest.raises(InputError, match=r"Tokens must have shape \(n, 17, 32\)"):
        backbone.forward(tokens[:, 1:])
    with pytest.raises(InputError, match=r"Prompts must have shape \(K, P, 32\)"):
        backbone.forward(tokens, np.zeros((3, 32), np.float32))
    for shape in ((3, 3), (1, 2, 3), (1, 3, 4)):
        with pytest.raises(InputError, match=r"Gains must have shape \(K, 3, 3\), not "):
            backbone.forward(tokens, None, np.zeros(shape, np.float32))
    with pytest.raises(InputError, match="4 prompts came with the gains of 2 candidates"):
        backbone.forward(tokens, prompts, np.zeros((2, 3, 3), np.float32))
    with pytest.raises(InputError, match="Gains must be finite"):
        backbone.forward(tokens, None, np.full((1, 3, 3), np.nan, np.float32))
    for wrong in (np.zeros((2, 3), np.float32), np.zeros((1, 3, 3), np.float32)):
        with pytest.raises(InputError, match=r"Gains must have shape \(3, 3\), not "):
            backbone.with_gains(wrong)
    for bad in (np.nan, np.inf, -np.inf):
        broken = pixels.copy()
        broken[2, 1, 3, 4] = bad
        with pytest.raises(InputError, match="Pixels must be finite"):
            backbone.embed(broken)


def test_bad_options_are_explained(options: dict[str, Any]) -> None:
    with pytest.raises(BackboneError, match="image size of 33 is not a multiple of the patch size of 8"):
        load_backbone(tiny_checkpoint(), **options, image_size=33)
    with pytest.raises(BackboneError, match="threads must be at least 1"):
        load_backbone(tiny_checkpoint(), **options, threads=0)
    with pytest.raises(BackboneError, match="memory budget"):
        load_backbone(tiny_checkpoint(), **options, memory_budget=0).embed(np.zeros((1, 3, 32, 32), np.float32))
