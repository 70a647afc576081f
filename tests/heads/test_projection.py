"""The random projection: one of everything, or one for each part of the features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

from foro.errors import InputError, ModelFileError
from foro.heads.projection import ACTIVATIONS, CHUNK, SURE, RandomProjection
from foro.heads.ridge import KnowledgeEncoder

BLOCKS = [(0, 5, 1.0), (1, 3, 2.0), (2, 4, 0.5), (0, 2, 1.0), (2, 1, 0.5)]
PHI = {"relu": lambda x: np.maximum(x, 0), "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, "tanh": np.tanh}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_block_sees_its_own_part(activation: str) -> None:
    X = np.random.default_rng(0).standard_normal((7, 12))
    kept = X.copy()
    projection = RandomProjection.draw(12, 15, activation, 3, BLOCKS)
    assert (projection.matrix.shape, projection.parts, projection.features) == ((4, 15), 3, 12)
    parts, expected, start = np.split(X, 3, axis=1), [], 0
    for part, count, scale in BLOCKS:
        columns = projection.matrix[:, start : start + count].astype(np.float64)
        expected.append(scale * PHI[activation](parts[part] @ columns))
        start += count
    assert np.allclose(projection(X), np.concatenate(expected, axis=1), rtol=1e-12, atol=1e-12)
    assert np.array_equal(X, kept)
    assert projection(X[:0]).shape == (0, 15)


def test_without_blocks_all_columns_see_everything() -> None:
    X = np.random.default_rng(0).standard_normal((3, 6))
    plain = RandomProjection.draw(6, CHUNK + 9, "relu", 1)
    assert plain.blocks == ((0, CHUNK + 9, 1.0),)
    assert np.allclose(plain(X), np.maximum(X @ plain.matrix.astype(np.float64), 0), rtol=1e-12, atol=1e-12)
    assert plain.same_as(RandomProjection(plain.matrix, "relu", [(0, CHUNK + 9, 1.0)]))


def test_the_variance_of_a_column_is_one_over_the_part_it_sees() -> None:
    wide = RandomProjection.draw(400, 1000, "relu", 0, [(0, 500, 1.0), (1, 500, 1.0)])
    assert wide.matrix.var() == pytest.approx(1 / 200, rel=0.02)
    assert RandomProjection.draw(400, 1000, "relu", 0).matrix.var() == pytest.approx(1 / 400, rel=0.02)


def test_only_the_same_blocks_are_the_same_projection() -> None:
    one = RandomProjection.draw(12, 15, "relu", 0, BLOCKS)
    assert one.same_as(RandomProjection.draw(12, 15, "relu", 0, BLOCKS))
    others = [
        RandomProjection.draw(12, 15, "tanh", 0, BLOCKS),
        RandomProjection.draw(12, 15, "relu", 1, BLOCKS),
        RandomProjection.draw(12, 15, "relu", 0, [(0, 5, 9.0), *BLOCKS[1:]]),
        RandomProjection.draw(12, 15, "relu", 0, [(1, 5, 1.0), *BLOCKS[1:]]),
    ]
    assert not any(one.same_as(other) for other in others)


def test_mistakes_are_said() -> None:
    with pytest.raises(InputError, match="unknown activation 'sine'; choose one of relu, gelu, tanh"):
        RandomProjection.draw(12, 15, "sine", 0)
    with pytest.raises(InputError, match="projection_dim must be between 1 and 46340, not 0"):
        RandomProjection.draw(12, 0, "relu", 0)
    with pytest.raises(ValueError, match="do not have as many columns as its matrix"):
        RandomProjection.draw(12, 16, "relu", 0, BLOCKS)


def test_an_encoder_keeps_its_blocks() -> None:
    generator = np.random.default_rng(0)
    X, labels = generator.standard_normal((30, 12)), ["a", "b", "c"] * 10
    encoder = KnowledgeEncoder(12, 15, 0.1, blocks=BLOCKS)
    encoder.absorb(X, labels)
    again = KnowledgeEncoder.from_state(*encoder.state())
    assert again.projection is not None
    assert again.projection.same_as(encoder.projection)
    assert again.difference(encoder) is None
    assert np.array_equal(again.scores(X), encoder.scores(X))
    assert encoder.difference(KnowledgeEncoder(12, 15, 0.1)) == "projections"
    arrays, settings = encoder.state()
    for blocks, said in ((BLOCKS[:-1], "as many columns"), ([], "does not fit 12 features")):
        with pytest.raises(ValueError, match=said):
            KnowledgeEncoder.from_state(
                arrays, {**settings, "projection": {**settings["projection"], "blocks": blocks}}
            )


def test_a_file_has_the_seed_and_a_digest_or_the_matrix() -> None:
    drawn = RandomProjection.draw(12, 15, "relu", 3, BLOCKS)
    arrays, settings = drawn.state()
    assert arrays == {}
    again = RandomProjection.from_state(None, settings, 12)
    assert np.array_equal(again.matrix, drawn.matrix)
    assert again.same_as(drawn)
    drawn.portable = True
    arrays, settings = drawn.state()
    stored = RandomProjection.from_state(arrays["projection"], {**settings, "seed": 99}, 12)
    assert stored.portable
    assert stored.same_as(drawn)
    with pytest.raises(ModelFileError, match=rf"NumPy {np.__version__} .* does not draw .* write it with --portable"):
        RandomProjection.from_state(None, {**settings, "seed": 4}, 12)
    with pytest.raises(ValueError, match=r"the projection has the shape \(3, 15\), not \(4, 15\)"):
        RandomProjection.from_state(arrays["projection"][1:], settings, 12)


def test_the_digest_does_not_see_the_digits_that_differ_between_computers() -> None:
    """Beyond 3.65 deviations NumPy's numbers come from the logarithm of the system's own library."""
    one = RandomProjection.draw(192, 8192, "relu", 0)
    assert one.digest == 1467611443  # where this fails, NumPy draws other numbers than it used to: see --portable
    far = np.abs(one.matrix) * np.sqrt(192) > SURE
    assert 100 < far.sum() < 2000
    other = one.matrix.copy()
    other[far] = np.nextafter(other[far], np.float32(9))
    assert RandomProjection(other, "relu").same_as(one)
    other[~far] = np.nextafter(other[~far], np.float32(9))
    assert not RandomProjection(other, "relu").same_as(one)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 17, 100, 255])
def test_no_digit_of_a_row_depends_on_how_many_come_with_it(count: int) -> None:
    projection, X = RandomProjection.draw(192, 4096, "relu", 0), np.random.default_rng(0).standard_normal((256, 192))
    assert np.array_equal(projection(X[:count]), projection(X)[:count])
