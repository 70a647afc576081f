"""What the rest of FoRo needs of a frozen vision transformer, whatever runs it."""

from __future__ import annotations

from typing import Protocol

from foro.images.preprocessing import Preprocessing
from foro.types import Float32


class Backbone(Protocol):
    """A frozen ViT of ``depth`` layers (N in the paper) and width ``dim`` (d in the paper).

    ``embed`` does what all candidate prompts share; ``forward`` does the rest for K prompts at once.
    """

    @property
    def name(self) -> str:
        """Full name, such as ``vit_base_patch16_224.augreg_in1k``."""
        ...

    @property
    def dim(self) -> int: ...

    @property
    def depth(self) -> int: ...

    @property
    def image_size(self) -> int: ...

    @property
    def preprocessing(self) -> Preprocessing: ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights: the same for every runtime of the same checkpoint."""
        ...

    def embed(self, pixels: Float32) -> Float32:
        """Tokens that enter the first block, (n, m, dim), of pixels (n, 3, image_size, image_size)."""
        ...

    def forward(self, tokens: Float32, prompts: Float32 | None = None) -> Float32:
        """CLS of every layer, (K, n, depth, dim), for K candidate prompts of shape (K, P, dim).

        No prompt (None) is one empty candidate, K = 1. The last layer's CLS is after the final norm,
        as a classification head would see it; the others are the residual stream after each block.
        """
        ...
