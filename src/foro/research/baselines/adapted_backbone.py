"""A backbone adapted to the first task and frozen from then on; to whatever uses it, a backbone like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.backbones.runtimes.checkpoint_runtime import CheckpointRuntime
from foro.backbones.runtimes.torch_runtime import TorchBackbone
from foro.errors import BackboneError
from foro.research.baselines.tuning import tune


class AdaptedBackbone(TorchBackbone):
    """The weights of another backbone, with ``parameters`` that can be trained until ``freeze``."""

    def __init__(self, backbone: Backbone, adaptation: str, width: int, tokens: int, seed: int) -> None:
        if not isinstance(backbone, CheckpointRuntime):
            raise BackboneError(f"{backbone.name} has no weights to adapt; load it by foro.load_backbone")
        super().__init__(backbone.checkpoint(), image_size=backbone.image_size)
        self._adaptation = adaptation
        self._adapted_fingerprint: str | None = None
        generator = self._torch.Generator().manual_seed(seed)
        self.parameters: dict[str, Any] = tune(self._model, adaptation, width, tokens, generator)

    @property
    def model(self) -> Any:
        """timm's vision transformer, adapted."""
        return self._model

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, the adapted ones included once they are frozen: their features are others."""
        return self._adapted_fingerprint or self._fingerprint

    def freeze(self) -> None:
        """Ends training."""
        self._model.eval().requires_grad_(False)
        digest = hashlib.sha256(f"{self._fingerprint} {self._adaptation}\n".encode())
        for name, array in sorted(self.arrays().items()):
            digest.update(f"{name} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array, "<f4").tobytes())
        self._adapted_fingerprint = digest.hexdigest()

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """What was trained, by name."""
        return {name: each.detach().cpu().numpy().copy() for name, each in self.parameters.items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes what another one of the same kind had trained, and freezes."""
        for name, parameter in self.parameters.items():
            if arrays[name].shape != tuple(parameter.shape):
                raise ValueError(f"{name} has the shape {arrays[name].shape}, not {tuple(parameter.shape)}")
            parameter.data.copy_(self._tensor(arrays[name]))
        self.freeze()
