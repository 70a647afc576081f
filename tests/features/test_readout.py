"""Which tokens a head sees, for any depth: their normalisation, and their part of the projection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foro.backbones import Backbone, load_backbone
from foro.backbones.architecture import Architecture
from foro.errors import InputError
from foro.features.readout import PILOT, Readout
from foro.heads.projection import RandomProjection
from tests.backbones.reference import random_checkpoint

DEPTHS = (1, 2, 3, 6, 12)
GROUPS = {
    # depth: the outputs of each token of the readout "groups", and its share of the projection's columns
    1: ([(0,)], [1.0]),
    2: ([(1,), (0,), (2,)], [0.5, 0.25, 0.25]),
    3: ([(2,), (1,), (3,)], [0.5, 0.25, 0.25]),
    6: ([(5,), (4,), (3,), (2,), (6, 7)], [0.5, *[0.25 / 3] * 3, 0.25]),
    12: ([(11,), (10,), (9,), (8,), (7,), (6,), (12, 13, 14)], [0.5, *[0.05] * 5, 0.25]),
}


@pytest.fixture(scope="module")
def backbones() -> dict[int, Backbone]:
    """Backbones of every depth."""
    shape = {"patch_size": 8, "dim": 16, "heads": 2, "mlp_hidden": 24, "grid": 2}
    return {depth: load_backbone(random_checkpoint(Architecture(depth=depth, **shape), 16)) for depth in DEPTHS}


def layers(backbone: Backbone, n: int = 5, seed: int = 0) -> np.ndarray:
    """What the backbone reads of n random images."""
    pixels = np.random.default_rng(seed).standard_normal((n, 3, 16, 16)).astype(np.float32)
    return backbone.forward(backbone.embed(pixels))[0]


@pytest.mark.parametrize("depth", DEPTHS)
def test_groups_are_the_last_cls_the_ones_before_it_and_mean_patch_tokens(
    backbones: dict[int, Backbone], depth: int
) -> None:
    readout = Readout.of("groups", backbones[depth])
    outputs, shares = GROUPS[depth]
    assert [token.outputs for token in readout.tokens] == outputs
    assert [token.share for token in readout.tokens] == pytest.approx(shares)
    assert sum(token.share for token in readout.tokens) == pytest.approx(1)
    assert readout.features == 16 * len(outputs)


@pytest.mark.parametrize("depth", DEPTHS)
def test_each_token_is_normalised_by_itself(backbones: dict[int, Backbone], depth: int) -> None:
    read = layers(backbones[depth]) * np.float32(7) + np.float32(3)  # some other scale and mean
    readout = Readout.of("groups", backbones[depth])
    found = readout(read).reshape(5, len(readout.tokens), 16)
    assert found.dtype == np.float32
    assert np.allclose((found**2).mean(axis=2), 1, atol=1e-4)
    for number, token in enumerate(readout.tokens):
        parts = read[:, list(token.outputs)].astype(np.float64)
        if token.outputs == (depth - 1,):  # the last CLS is as the final norm leaves it, but for its length
            expected = parts[:, 0]
        else:
            centred = parts - parts.mean(axis=2, keepdims=True)
            expected = (centred / centred.std(axis=2, keepdims=True)).sum(axis=1)
            assert np.allclose(found[:, number].mean(axis=1), 0, atol=1e-5)
        expected = expected / np.sqrt((expected**2).mean(axis=1, keepdims=True))
        assert np.allclose(found[:, number], expected, atol=1e-4)


@pytest.mark.parametrize("name", ["groups", "cls", "cls3"])
def test_features_do_not_depend_on_other_samples(backbones: dict[int, Backbone], name: str) -> None:
    read, readout = layers(backbones[6]), Readout.of(name, backbones[6])
    kept = read.copy()
    alone = np.concatenate([readout(each[None]) for each in read])
    assert np.array_equal(readout(read), alone)
    assert np.array_equal(read, kept)
    assert readout(read[:0]).shape == (0, readout.features)


def test_a_token_without_any_signal_is_zero_and_not_a_nan(backbones: dict[int, Backbone]) -> None:
    constant = np.full((2, backbones[12].outputs, 16), 5, np.float32)
    found = Readout.of("groups", backbones[12])(constant).reshape(2, -1, 16)
    assert np.allclose(found[:, 0], 1)
    assert not found[:, 1:].any()


@pytest.mark.parametrize("depth", DEPTHS)
def test_cls_is_the_last_one_as_it_is(backbones: dict[int, Backbone], depth: int) -> None:
    read = layers(backbones[depth])
    for name in ("cls", "cls1"):
        readout = Readout.of(name, backbones[depth])
        assert np.array_equal(readout(read), read[:, depth - 1])
        assert readout(read).flags.c_contiguous
        assert readout.blocks(8) == []  # one projection of everything


@pytest.mark.parametrize(("depth", "count"), [(3, 2), (3, 3), (6, 4), (12, 6), (12, 12)])
def test_cls_and_a_number_are_the_last_ones_side_by_side(
    backbones: dict[int, Backbone], depth: int, count: int
) -> None:
    read, readout = layers(backbones[depth]), Readout.of(f"cls{count}", backbones[depth])
    last = read[:, depth - count : depth]
    expected = (last - last.mean(axis=2, keepdims=True)) / last.std(axis=2, keepdims=True)
    assert readout.features == 16 * count
    assert np.allclose(readout(read), expected.reshape(5, -1), atol=1e-4)
    assert readout.blocks(64) == []


def test_mistakes_are_one_sentence(backbones: dict[int, Backbone]) -> None:
    for name in ("cls7", "cls0"):
        said = f"readout {name} needs {name[3:]} layers, but {backbones[6].name} has 6"
        with pytest.raises(InputError, match=said):
            Readout.of(name, backbones[6])
    for name in ("", "CLS", "mean", "cls-1", "groups2"):
        with pytest.raises(
            InputError, match=f"readout must be groups, cls or cls and a number of layers, not '{name}'"
        ):
            Readout.of(name, backbones[6])
    with pytest.raises(InputError, match="readout groups needs a projection_dim of at least 14"):
        Readout.of("groups", backbones[12]).blocks(13)


def columns(blocks: list[tuple[int, int, float]], tokens: int) -> np.ndarray:
    """How many columns each token has in all."""
    found = np.zeros(tokens, dtype=int)
    for part, count, _ in blocks:
        found[part] += count
    return found


@pytest.mark.parametrize("depth", DEPTHS)
@given(width=st.integers(14, 5000) | st.integers(PILOT - 20, PILOT + 60))
def test_the_columns_of_all_tokens_are_those_of_the_projection(
    backbones: dict[int, Backbone], depth: int, width: int
) -> None:
    readout = Readout.of("groups", backbones[depth])
    blocks = readout.blocks(width)
    assert all(count > 0 for _, count, _ in blocks)
    assert sum(count for _, count, _ in blocks) == width
    found, shares = columns(blocks, len(readout.tokens)), np.array(GROUPS[depth][1])
    assert (found >= 1).all()
    assert np.abs(found - shares * width).max() <= len(shares)
    assert RandomProjection.draw(readout.features, width, "relu", 0, blocks).features == readout.features


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("width", [2048, 8192, PILOT + 7])
def test_the_first_columns_are_a_small_copy(backbones: dict[int, Backbone], depth: int, width: int) -> None:
    readout = Readout.of("groups", backbones[depth])
    blocks, first, seen = readout.blocks(width), [], 0
    for part, count, scale in blocks:
        if seen < PILOT:
            first.append((part, min(count, PILOT - seen), scale))
        seen += count
    tokens = len(readout.tokens)
    small, whole = columns(first, tokens) / PILOT, columns(blocks, tokens) / width
    assert np.abs(small - whole).max() < 0.01


@pytest.mark.parametrize("depth", DEPTHS)
def test_weights_are_shares_of_the_squared_norm(backbones: dict[int, Backbone], depth: int) -> None:
    """Whatever part of the columns a token has, its features weigh as they should, and M does not change the scale."""
    readout, width = Readout.of("groups", backbones[depth]), 4096
    blocks = readout.blocks(width)
    projection = RandomProjection.draw(readout.features, width, "relu", 0, blocks)
    found = projection(readout(layers(backbones[depth], 20)).astype(np.float64))
    squares, start = np.zeros(len(readout.tokens)), 0
    for part, count, _ in blocks:
        squares[part] += (found[:, start : start + count] ** 2).sum(axis=1).mean() / width
        start += count
    weights = np.array([token.weight for token in readout.tokens])
    # Of half of the columns ReLU leaves the square, whose mean is 1.
    assert squares == pytest.approx(0.5 * weights / weights.sum(), rel=0.25)
    assert squares.sum() == pytest.approx(0.5, rel=0.1)
    earlier = len(weights) - 2
    assert weights.tolist() == pytest.approx([1.0, *[2.0 / earlier] * earlier, 0.5] if depth > 1 else [1.0])
