"""What every engine says of the checkpoint it runs."""

from __future__ import annotations

from foro.backbones.checkpoint import Checkpoint, read_checkpoint
from foro.errors import BackboneError
from foro.images.preprocessing import Preprocessing


class Described:
    """The properties of a ``Backbone`` that do not depend on what runs it. Weights that are in a file are not kept."""

    def __init__(self, checkpoint: Checkpoint, image_size: int | None) -> None:
        self._architecture = checkpoint.architecture
        self._name, self._fingerprint = checkpoint.name, checkpoint.fingerprint
        self._preprocessing = checkpoint.preprocessing(image_size)
        self._source = checkpoint.origin or checkpoint

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
        """The weights, read again from their file: whoever trains needs them, what merely runs does not."""
        if isinstance(self._source, Checkpoint):
            return self._source
        again = read_checkpoint(self._source)
        if again.fingerprint != self._fingerprint:
            raise BackboneError(f"the weights in {self._source} have changed since {self._name} was loaded from there")
        return again
