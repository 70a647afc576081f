"""A candidate is what it is made of: neutral or not, the same or another, stored and read again."""

from __future__ import annotations

import numpy as np
import pytest

from foro.backbones import Backbone
from foro.features.candidate import NEUTRAL, Candidate, stacked
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from tests.conftest import textures

PROMPT, GAINS = np.ones((2, 32), np.float32), np.full((3, 3), 0.1, np.float32)
KINDS = {
    "neutral": NEUTRAL,
    "prompt": Candidate(PROMPT),
    "gains": Candidate(None, GAINS),
    "both": Candidate(PROMPT, GAINS),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_arrays_are_all_of_it(kind: str) -> None:
    candidate = KINDS[kind]
    again = Candidate.from_arrays({**candidate.arrays(), "history.mean": PROMPT})
    assert again.same_as(candidate)
    assert again.digest == candidate.digest
    assert candidate.neutral == (kind == "neutral")
    assert list(candidate.arrays()) == [name for name in ("prompt", "gains") if kind in (name, "both")]


def test_another_number_is_another_candidate() -> None:
    others = [*KINDS.values(), Candidate(2 * PROMPT), Candidate(None, 2 * GAINS), Candidate(PROMPT[:1])]
    assert len({each.digest for each in others}) == len(others)
    for number, one in enumerate(others):
        assert [one.same_as(other) for other in others] == [number == each for each in range(len(others))]
    assert Candidate(PROMPT.copy(), GAINS.copy()).same_as(KINDS["both"])


@every_kind
def test_several_are_stacked_for_one_pass(kind: str) -> None:
    prompts, gains = stacked([KINDS[kind], KINDS[kind]])
    assert (None if prompts is None else prompts.shape) == ((2, 2, 32) if kind in ("prompt", "both") else None)
    assert (None if gains is None else gains.shape) == ((2, 3, 3) if kind in ("gains", "both") else None)


@every_kind
def test_the_extractor_gives_the_same_alone_and_together(kind: str, tiny_backbone: Backbone) -> None:
    extractor, candidate = Extractor(tiny_backbone), KINDS[kind]
    images, _ = textures(2)
    (tokens,) = extractor.tokens(images)
    alone = extractor.forward(tokens, [candidate])
    if kind != "neutral":
        together = extractor.forward(tokens, [candidate, candidate])
        assert extractor.forward_passes == 3 * len(images)
        for each in together:
            assert np.allclose(each, alone[0], rtol=1e-4, atol=5e-5)
        assert not np.allclose(alone, extractor.forward(tokens, [NEUTRAL]), atol=1e-3)
    extractor.forward_passes = 0
    readout = Readout.of("groups", tiny_backbone)
    (layers,), (features,) = extractor.layers(images, candidate), extractor.features(images, readout, candidate)
    assert np.array_equal(layers, alone[0])
    assert np.array_equal(features, readout(alone[0]))
    assert extractor.forward_passes == 2 * len(images)
    sample = extractor.sample(images)
    assert np.array_equal(sample.layers(candidate), layers)
    some = np.array([4, 1])
    (judged,) = sample.judge(lambda read: float(read.sum()), some)([candidate])
    assert judged == pytest.approx(float(layers[some].sum()), rel=1e-3)
