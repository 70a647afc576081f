"""What all runtimes share: the facts of their checkpoint, checks of their inputs, and runs of bounded size."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from foro.backbones.checkpoint import Checkpoint, read_checkpoint
from foro.backbones.runtimes.microbatch import ENOUGH_ON_CPU, run_in_pieces, sequences_per_run
from foro.errors import BackboneError, InputError
from foro.images.preprocessing import Preprocessing
from foro.types import Float32


class CheckpointRuntime(ABC):
    """A ``Backbone`` of a checkpoint; a runtime adds the computation. Weights that are in a file are not kept."""

    def __init__(self, checkpoint: Checkpoint, image_size: int | None, memory_budget: int) -> None:
        self._architecture = checkpoint.architecture
        self._name, self._fingerprint = checkpoint.name, checkpoint.fingerprint
        self._preprocessing = checkpoint.preprocessing(image_size)
        self._source = checkpoint.origin or checkpoint
        self._memory_budget = memory_budget
        self._most_embedded = self._most_forwarded = ENOUGH_ON_CPU  # sequences of one run

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

    def checkpoint(self) -> Checkpoint:
        """The weights, read from their file again: training needs them, running does not."""
        if isinstance(self._source, Checkpoint):
            return self._source
        again = read_checkpoint(self._source)
        if again.fingerprint != self._fingerprint:
            raise BackboneError(f"the weights in {self._source} have changed since {self._name} was loaded from there")
        return again

    def embed(self, pixels: Float32) -> Float32:
        """Tokens (n, m, dim) of preprocessed pixels (n, 3, image_size, image_size)."""
        pixels = _checked("Pixels", pixels, ("n", 3, self.image_size, self.image_size))
        tokens = np.empty((len(pixels), self._architecture.tokens(self.image_size), self.dim), np.float32)
        step = sequences_per_run(self._architecture, tokens.shape[1], self._memory_budget, self._most_embedded)
        for start in range(0, len(pixels), step):
            tokens[start : start + step] = self._run_embed(pixels[start : start + step])
        return tokens

    def forward(self, tokens: Float32, prompts: Float32 | None = None) -> Float32:
        """CLS of every layer, (K, n, depth, dim), for prompts (K, P, dim); no prompt is one candidate of no tokens."""
        tokens = _checked("Tokens", tokens, ("n", self._architecture.tokens(self.image_size), self.dim))
        empty = np.empty((1, 0, self.dim), np.float32)
        prompts = empty if prompts is None else _checked("Prompts", prompts, ("K", "P", self.dim))
        length = tokens.shape[1] + prompts.shape[1]
        together = sequences_per_run(self._architecture, length, self._memory_budget, self._most_forwarded)
        return run_in_pieces(self._run_forward, tokens, prompts, self.depth, together)

    @abstractmethod
    def _run_embed(self, pixels: Float32) -> Float32:
        """``embed`` of the pixels of one run."""

    @abstractmethod
    def _run_forward(self, tokens: Float32, prompts: Float32) -> Float32:
        """``forward`` of the tokens and prompts of one run."""


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
