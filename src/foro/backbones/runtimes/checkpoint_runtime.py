"""What all runtimes share: the facts of their checkpoint, checks of their inputs, and runs of bounded size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from foro.backbones.checkpoint import Checkpoint, read_checkpoint
from foro.backbones.runtimes.microbatch import ENOUGH_ON_CPU, run_in_pieces, sequences_per_run
from foro.errors import BackboneError, InputError
from foro.images.preprocessing import Preprocessing
from foro.types import Float32
from foro.util.parallel import spread

if TYPE_CHECKING:
    from typing_extensions import Self


class CheckpointRuntime(ABC):
    """A ``Backbone`` of a checkpoint; a runtime adds the computation. Weights that are in a file are not kept."""

    def __init__(self, checkpoint: Checkpoint, image_size: int | None, memory_budget: int) -> None:
        self._architecture = checkpoint.architecture
        self._name, self._fingerprint = checkpoint.name, checkpoint.fingerprint
        self._preprocessing = checkpoint.preprocessing(image_size)
        self._source = checkpoint.origin or checkpoint
        self._memory_budget = memory_budget
        self._gains: Float32 | None = None  # that are in the weights
        self._twin: tuple[Float32, Self] | None = None  # the gains that were last asked for, and the runtime with them
        self._most_embedded = self._most_forwarded = ENOUGH_ON_CPU  # sequences of one run
        self._side_by_side = 1  # runs at the same time

    @property
    def name(self) -> str:
        """Full name of the checkpoint."""
        return self._name

    @property
    def dim(self) -> int:
        """Width of a token (d)."""
        return self._architecture.dim

    @property
    def depth(self) -> int:
        """Number of layers (N)."""
        return self._architecture.depth

    @property
    def image_size(self) -> int:
        """Side of the square image that ``embed`` takes."""
        return self._preprocessing.image_size

    @property
    def preprocessing(self) -> Preprocessing:
        """From an image to the pixels that ``embed`` takes."""
        return self._preprocessing

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights in use."""
        return self._fingerprint

    @property
    def outputs(self) -> int:
        """Tokens that ``forward`` gives for an image: the CLS of every layer, then mean patch tokens."""
        return self._architecture.outputs

    def checkpoint(self) -> Checkpoint:
        """The weights, read from their file again: training needs them, running does not."""
        again = self._source if isinstance(self._source, Checkpoint) else read_checkpoint(self._source)
        if again is not self._source and again.fingerprint != self._fingerprint:
            raise BackboneError(f"the weights in {self._source} have changed since {self._name} was loaded from there")
        return again if self._gains is None else again.with_gains(self._gains)

    def with_gains(self, gains: Float32 | None) -> Self:
        """The same backbone with gains (depth, 3) in its weights, so that they cost nothing; None: itself."""
        if gains is None:
            return self
        gains = _checked("Gains", gains, (self.depth, 3))
        made = self._twin  # read once: another thread may ask for other gains meanwhile
        if made is None or not np.array_equal(made[0], gains):
            twin = self._rebuilt(self.checkpoint().with_gains(gains))
            twin._source, twin._fingerprint = self._source, self._fingerprint
            twin._gains = gains.copy() if self._gains is None else self._gains + gains
            made = self._twin = (gains.copy(), twin)  # building one takes as long as loading a backbone
        return made[1]

    def embed(self, pixels: Float32) -> Float32:
        """Tokens (n, m, dim) of preprocessed pixels (n, 3, image_size, image_size)."""
        pixels = _checked("Pixels", pixels, ("n", 3, self.image_size, self.image_size))
        tokens = np.empty((len(pixels), self._architecture.tokens(self.image_size), self.dim), np.float32)
        step = self._together(tokens.shape[1], len(pixels), self._most_embedded)

        def run(start: int) -> None:
            tokens[start : start + step] = self._run_embed(pixels[start : start + step])

        spread(run, range(0, len(pixels), step), self._side_by_side)
        return tokens

    def forward(self, tokens: Float32, prompts: Float32 | None = None, gains: Float32 | None = None) -> Float32:
        """What is read of every layer, (K, n, outputs, dim), for prompts (K, P, dim) and gains (K, depth, 3).

        Without prompts, candidates have none; without either there is one candidate.
        """
        tokens = _checked("Tokens", tokens, ("n", self._architecture.tokens(self.image_size), self.dim))
        if gains is not None:
            gains = _checked("Gains", gains, ("K", self.depth, 3))
        empty = np.empty((1 if gains is None else len(gains), 0, self.dim), np.float32)
        prompts = empty if prompts is None else _checked("Prompts", prompts, ("K", "P", self.dim))
        if gains is not None and len(gains) != len(prompts):
            raise InputError(f"{len(prompts)} prompts came with the gains of {len(gains)} candidates")
        length = tokens.shape[1] + prompts.shape[1]
        together = self._together(length, len(tokens) * len(prompts), self._most_forwarded)
        return run_in_pieces(self._run_forward, tokens, prompts, gains, self.outputs, together, self._side_by_side)

    def _together(self, length: int, sequences: int, enough: int) -> int:
        """Sequences of one run: within the budget of all that run side by side, and few enough to occupy these."""
        budget = -(-self._memory_budget // self._side_by_side)
        fit = sequences_per_run(self._architecture, length, budget, enough)
        return max(1, min(fit, -(-sequences // self._side_by_side)))

    @abstractmethod
    def _run_embed(self, pixels: Float32) -> Float32:
        """``embed`` of the pixels of one run."""

    @abstractmethod
    def _run_forward(self, tokens: Float32, prompts: Float32, gains: Float32 | None) -> Float32:
        """``forward`` of the tokens and candidates of one run."""

    @abstractmethod
    def _rebuilt(self, checkpoint: Checkpoint) -> Self:
        """A runtime of another checkpoint with the same settings."""


def _checked(what: str, array: Float32, shape: tuple[int | str, ...]) -> Float32:
    """The array as contiguous float32, if it has the shape and finite values."""
    array = np.asarray(array)
    fits = array.ndim == len(shape) and all(
        isinstance(wanted, str) or wanted == found for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(length) for length in shape)
        raise InputError(f"{what} must have shape ({wanted}), not {array.shape}")
    if array.dtype.kind != "f":
        raise InputError(f"{what} must be floating point, not {array.dtype}; images go through preprocessing first")
    checked = np.ascontiguousarray(array, dtype=np.float32)
    # One pass without a mask of the same size: any NaN or infinity makes the sum so.
    if not np.isfinite(checked.sum(dtype=np.float64)):
        raise InputError(f"{what} must be finite, but there are NaN or infinite values")
    return checked
