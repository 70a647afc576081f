"""The factor beside a large model saves a factorisation, and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foro import KnowledgeEncoder
from foro.files.factor_file import keep_factor, offer_factor
from foro.heads.ridge import cholesky, solver

SIZE = 96


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, KnowledgeEncoder]:
    """A path with a factor beside it, and the encoder that it is of, as another process would read it."""
    monkeypatch.setattr(solver, "WORTH_STORING", SIZE)
    random = np.random.default_rng(0)
    encoder = KnowledgeEncoder(8, SIZE, regularisation=0.5)
    encoder.absorb(random.standard_normal((200, 8)), [number % 4 for number in range(200)])
    encoder.estimate()
    path = tmp_path / "m.foro"
    keep_factor(path, encoder)
    return path, _again(encoder)


def _again(encoder: KnowledgeEncoder) -> KnowledgeEncoder:
    arrays, settings = encoder.state()
    return KnowledgeEncoder.from_state({name: array.copy() for name, array in arrays.items()}, settings)


def _one_more(encoder: KnowledgeEncoder) -> tuple[np.ndarray, np.ndarray]:
    encoder.absorb(np.random.default_rng(1).standard_normal((1, 8)), [2])
    return encoder.weights, encoder.kept_scores()[0]


def test_one_more_sample_needs_no_factorisation_and_is_the_same(stored: tuple[Path, KnowledgeEncoder]) -> None:
    path, encoder = stored
    expected = _one_more(_again(encoder))
    offer_factor(path, encoder)
    found = _one_more(encoder)
    assert encoder.solver.factorisations == 0
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    written = path.with_name("m.foro.factor").stat().st_mtime_ns
    keep_factor(path, encoder)
    assert path.with_name("m.foro.factor").stat().st_mtime_ns == written  # it is not new


@pytest.mark.parametrize("harm", ["missing", "cut", "flipped", "other statistics", "other layout"])
def test_without_the_right_factor_it_is_computed(
    stored: tuple[Path, KnowledgeEncoder], harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, encoder = stored
    file = path.with_name("m.foro.factor")
    if harm == "missing":
        file.unlink()
    elif harm == "other layout":
        monkeypatch.setattr(cholesky, "LAYOUT", cholesky.LAYOUT + 1)
    elif harm == "other statistics":
        encoder.absorb(np.random.default_rng(2).standard_normal((100, 8)), [1] * 100)
        encoder = _again(encoder)
    else:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data if harm == "flipped" else data[:-8])
    expected = _one_more(_again(encoder))
    offer_factor(path, encoder)
    found = _one_more(encoder)
    assert encoder.solver.factorisations == 1
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_a_small_model_has_no_factor_beside_it(tmp_path: Path) -> None:
    encoder = KnowledgeEncoder(8, SIZE, regularisation=0.5)
    encoder.absorb(np.random.default_rng(0).standard_normal((200, 8)), [number % 4 for number in range(200)])
    encoder.estimate()
    keep_factor(tmp_path / "m.foro", encoder)
    assert not list(tmp_path.iterdir())
