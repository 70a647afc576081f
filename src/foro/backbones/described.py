"""What every engine says of the checkpoint it runs."""

from __future__ import annotations

from foro.backbones.checkpoint import Checkpoint
from foro.backbones.preprocessing import Preprocessing


class Described:
    """The properties of a ``Backbone`` that do not depend on what runs it. The weights themselves are not kept."""

    def __init__(self, checkpoint: Checkpoint, image_size: int | None) -> None:
        self._architecture = checkpoint.architecture
        self._name, self._fingerprint = checkpoint.name, checkpoint.fingerprint
        self._preprocessing = checkpoint.preprocessing(image_size)

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
