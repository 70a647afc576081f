"""What adaptation evolves: a candidate is a prompt, gains of the blocks, both, or neither."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foro.types import Arrays, Float32


@dataclass(frozen=True, eq=False)
class Candidate:
    """A prompt (P, dim) that joins the tokens, and gains (depth, 3) of the blocks; None is neutral.

    Gains are logarithms of what multiplies a block's attention, its MLP and its queries.
    """

    prompt: Float32 | None = None
    gains: Float32 | None = None

    @property
    def neutral(self) -> bool:
        """Whether it leaves the backbone as it is."""
        return self.prompt is None and self.gains is None

    def same_as(self, other: Candidate) -> bool:
        """Whether both make the same features."""
        pairs = ((self.prompt, other.prompt), (self.gains, other.gains))
        return all(
            one is two or (one is not None and two is not None and np.array_equal(one, two)) for one, two in pairs
        )

    @property
    def digest(self) -> str:
        """A name that only candidates with the same numbers share."""
        parts = [repr((name, array.shape)).encode() + array.tobytes() for name, array in self.arrays().items()]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def arrays(self) -> Arrays:
        """What to store."""
        parts = {"prompt": self.prompt, "gains": self.gains}
        return {name: array for name, array in parts.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Float32]) -> Candidate:
        """The candidate whose ``arrays`` are among these."""
        return cls(arrays.get("prompt"), arrays.get("gains"))


NEUTRAL = Candidate()


def stacked(candidates: Sequence[Candidate]) -> tuple[Float32 | None, Float32 | None]:
    """Prompts (K, P, dim) and gains (K, depth, 3) of candidates of one kind, as ``Backbone.forward`` takes them."""
    prompts = [each.prompt for each in candidates if each.prompt is not None]
    gains = [each.gains for each in candidates if each.gains is not None]
    return np.stack(prompts) if prompts else None, np.stack(gains) if gains else None
