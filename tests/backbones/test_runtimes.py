"""Every runtime against the float64 reference, for every variant of the architecture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foro.backbones import load_backbone
from foro.backbones.architecture import Architecture
from tests.backbones import reference

RUNTIMES = ["onnx", pytest.param("torch", marks=pytest.mark.torch)]
PLAIN = {"patch_size": 8, "dim": 24, "depth": 3, "heads": 3, "mlp_hidden": 48, "grid": 4}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "patch 14": {"patch_size": 14, "grid": 3},
    "patch 16, one head": {"patch_size": 16, "grid": 2, "heads": 1},
    "patch 32, one block": {"patch_size": 32, "grid": 2, "depth": 1},
    "CLIP": {"pre_norm": True, "patch_bias": False, "eps": 1e-2, "activation": "quick_gelu"},
    "norm_pre with patch bias": {"pre_norm": True},
    "no patch bias": {"patch_bias": False},
    "DeiT III": {"layer_scale": True, "no_embed_class": True},
    "DINOv2 with registers": {"layer_scale": True, "register_tokens": 4, "no_embed_class": True},
    "registers with positions": {"register_tokens": 2},
    "no qkv bias": {"qkv_bias": False},
    "no bias in projections": {"proj_bias": False},
    "normalised queries and keys": {"qk_norm": True, "eps": 1e-3},
    "tanh GELU": {"activation": "gelu_tanh", "mlp_hidden": 37},
    "no final norm": {"final_norm": False},
}


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def compare(
    runtime: Any,
    architecture: Architecture,
    size: int,
    prompts: tuple[int, int] | None,
    n: int = 3,
    gains: int | None = None,
) -> None:
    """A runtime against the reference: with K prompts of P tokens, and gains of so many candidates, or none."""
    checkpoint = reference.random_checkpoint(architecture, architecture.grid * architecture.patch_size)
    backbone = load_backbone(checkpoint, runtime=runtime, image_size=size)
    rng = np.random.default_rng(1)
    pixels = rng.standard_normal((n, 3, size, size)).astype(np.float32)
    tokens = backbone.embed(pixels)
    assert relative_error(tokens, reference.embed(checkpoint, pixels)) < 1e-5
    prompt = None if prompts is None else rng.standard_normal((*prompts, architecture.dim)).astype(np.float32)
    gain = None if gains is None else (0.3 * rng.standard_normal((gains, architecture.depth, 3))).astype(np.float32)
    expected_prompt = np.empty((gains or 1, 0, architecture.dim)) if prompt is None else prompt
    expected = reference.forward(checkpoint, tokens, expected_prompt, gain)
    assert backbone.outputs == expected.shape[2]
    runs = [backbone.forward(tokens, prompt, gain)]
    if gain is not None:  # in the weights they must do the same
        alone = [None if prompt is None else each[None] for each in expected_prompt]
        folded = [backbone.with_gains(each).forward(tokens, own) for each, own in zip(gain, alone, strict=True)]
        runs.append(np.concatenate(folded))
    for found in runs:
        assert found.shape == expected.shape
        for output in range(architecture.outputs):
            assert relative_error(found[:, :, output], expected[:, :, output]) < 2e-5


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_agree_with_the_reference(runtime: str, variant: str) -> None:
    architecture = Architecture(**{**PLAIN, **VARIANTS[variant]})
    size = architecture.grid * architecture.patch_size
    compare(runtime, architecture, size, None)
    compare(runtime, architecture, size, (2, 3))
    compare(runtime, architecture, size, None, gains=2)
    compare(runtime, architecture, size, (2, 3), gains=2)


def test_mean_patch_tokens_are_of_a_quarter_of_the_blocks_before_the_last() -> None:
    blocks = {depth: list(Architecture(**{**PLAIN, "depth": depth}).mean_blocks) for depth in (1, 2, 3, 6, 8, 12, 24)}
    assert blocks == {1: [], 2: [0], 3: [1], 6: [3, 4], 8: [5, 6], 12: [8, 9, 10], 24: [17, 18, 19, 20, 21, 22]}
    for depth, each in blocks.items():
        assert Architecture(**{**PLAIN, "depth": depth}).outputs == depth + len(each)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("depth", [2, 12])
def test_any_depth_agrees_with_the_reference(runtime: str, depth: int) -> None:
    compare(runtime, Architecture(**{**PLAIN, "depth": depth, "register_tokens": 2}), 32, (2, 1), gains=2)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("grid", [2, 3, 7])
@pytest.mark.parametrize("variant", ["plain", "DINOv2 with registers"])
def test_another_image_size_resamples_the_positions(runtime: str, grid: int, variant: str) -> None:
    compare(runtime, Architecture(**{**PLAIN, **VARIANTS[variant]}), grid * 8, (1, 2))


@settings(max_examples=15, deadline=None)
@given(
    heads=st.integers(1, 4),
    head_dim=st.sampled_from([4, 8, 20]),
    depth=st.integers(1, 3),
    flags=st.fixed_dictionaries(
        {
            name: st.booleans()
            for name in ("pre_norm", "patch_bias", "qkv_bias", "qk_norm", "proj_bias", "layer_scale", "final_norm")
        }
    ),
    candidates=st.integers(1, 3),
    length=st.integers(0, 4),
    gained=st.booleans(),
)
def test_any_combination(
    heads: int, head_dim: int, depth: int, flags: dict[str, bool], candidates: int, length: int, gained: bool
) -> None:
    architecture = Architecture(
        patch_size=8, dim=heads * head_dim, depth=depth, heads=heads, mlp_hidden=40, grid=2, eps=1e-4, **flags
    )
    compare("onnx", architecture, 16, (candidates, length), n=2, gains=candidates if gained else None)


def test_int8_follows_float32() -> None:
    checkpoint = reference.tiny_checkpoint()
    exact, quantised = load_backbone(checkpoint), load_backbone(checkpoint, precision="int8")
    tokens = exact.embed(np.random.default_rng(0).standard_normal((4, 3, 32, 32)).astype(np.float32))
    a, b = exact.forward(tokens), quantised.forward(tokens)
    cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    assert cosine.min() > 0.99
    assert not np.array_equal(a, b)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_small_memory_budget_changes_nothing(runtime: Any) -> None:
    checkpoint = reference.tiny_checkpoint()
    rng = np.random.default_rng(0)
    pixels = rng.standard_normal((5, 3, 32, 32)).astype(np.float32)
    prompts = rng.standard_normal((4, 2, 32)).astype(np.float32)
    large = load_backbone(checkpoint, runtime=runtime)
    small = load_backbone(checkpoint, runtime=runtime, memory_budget=1)
    tokens = large.embed(pixels)
    np.testing.assert_allclose(small.embed(pixels), tokens, rtol=1e-5, atol=1e-5)
    gains = (0.3 * rng.standard_normal((4, 3, 3))).astype(np.float32)
    for each in (None, gains):
        found, expected = (backbone.forward(tokens, prompts, each) for backbone in (small, large))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
