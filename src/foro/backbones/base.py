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
    def outputs(self) -> int:
        """Tokens that ``forward`` gives for an image."""
        ...

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

    def forward(self, tokens: Float32, prompts: Float32 | None = None, gains: Float32 | None = None) -> Float32:
        """What is read of every layer, (K, n, outputs, dim), for prompts (K, P, dim) and gains (K, depth, 3).

        First the CLS of every layer: the last one after the final norm, as a classification head would see it, the
        others in the residual stream after each block. Then the mean patch tokens of a quarter of the blocks, those
        before the last. Gains are logarithms of what multiplies a block's attention, its MLP and its queries. Without
        prompts, candidates have none; without either there is one candidate.
        """
        ...

    def with_gains(self, gains: Float32 | None) -> Backbone:
        """The same backbone with gains (depth, 3) in its weights, so that they cost nothing; None: itself."""
        ...
