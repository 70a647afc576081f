"""A frozen backbone on disk: weights as timm publishes them, and the config beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones.architecture import Architecture, infer_architecture
from foro.errors import BackboneError
from foro.images.preprocessing import Preprocessing
from foro.util.tensors import parse_json, read_tensors

WEIGHTS_FILE = "model.safetensors"
CONFIG_FILE = "config.json"
_PICKLES = (".bin", ".pth", ".pt", ".pkl", ".ckpt")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Tensors (float32) under timm's names, timm's config, and the architecture derived from both."""

    tensors: Mapping[str, NDArray[np.float32]]
    config: Mapping[str, Any]
    architecture: Architecture
    origin: Path | None = None  # where it was read from

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, NDArray[np.float32]], config: Mapping[str, Any], origin: Path | None = None
    ) -> Checkpoint:
        """Check tensors and config against each other."""
        architecture = infer_architecture({name: array.shape for name, array in tensors.items()}, config)
        return cls(tensors, config, architecture, origin)

    @property
    def name(self) -> str:
        """Full name, ``architecture.tag``."""
        architecture, tag = self.config.get("architecture"), self._pretrained_cfg.get("tag")
        return f"{architecture}.{tag}" if tag else str(architecture)

    @property
    def _pretrained_cfg(self) -> Mapping[str, Any]:
        config: Mapping[str, Any] = self.config.get("pretrained_cfg") or {}
        return config

    def preprocessing(self, image_size: int | None = None) -> Preprocessing:
        """The checkpoint's own evaluation transform, at another image size if one is given."""
        transform = Preprocessing.from_config(self._pretrained_cfg, image_size)
        patch = self.architecture.patch_size
        if transform.image_size % patch:
            raise BackboneError(
                f"an image size of {transform.image_size} is not a multiple of the patch size of {patch}"
            )
        return transform

    def with_gains(self, gains: NDArray[np.float32]) -> Checkpoint:
        """The checkpoint with gains (depth, 3) in its weights: logarithms of factors of attention, MLP and queries."""
        tensors, dim = dict(self.tensors), self.architecture.dim
        for block, (attention, mlp, query) in enumerate(np.exp(gains, dtype=np.float32)):
            name = f"blocks.{block}"
            for part in ("weight", "bias"):
                for scaled, factor in ((f"{name}.attn.proj.{part}", attention), (f"{name}.mlp.fc2.{part}", mlp)):
                    if scaled in tensors:
                        tensors[scaled] = tensors[scaled] * factor
                if self.architecture.qk_norm:  # whatever scale the queries had is gone after their norm
                    tensors[f"{name}.attn.q_norm.{part}"] = tensors[f"{name}.attn.q_norm.{part}"] * query
                elif f"{name}.attn.qkv.{part}" in tensors:
                    scaled_rows = tensors[f"{name}.attn.qkv.{part}"].copy()
                    scaled_rows[:dim] *= query
                    tensors[f"{name}.attn.qkv.{part}"] = scaled_rows
        return Checkpoint(tensors, self.config, self.architecture, None)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the tensors in use: the same for every runtime, image size and storage precision."""
        digest = hashlib.sha256()
        for name in sorted(self.architecture.tensor_shapes()):
            array = np.ascontiguousarray(self.tensors[name], dtype="<f4")
            digest.update(f"{name} {array.shape}\n".encode())
            digest.update(array.view(np.uint8).data)
        return digest.hexdigest()


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a folder of model.safetensors and config.json, or the weights file with its config beside it."""
    weights = path / WEIGHTS_FILE if path.is_dir() else path
    if weights.suffix in _PICKLES:
        raise BackboneError(f"{weights} is a pickle, which could run any code; use safetensors weights instead")
    if not weights.is_file():
        raise BackboneError(f"there is no {weights.name} in {weights.parent}")
    config = _read_config(weights.parent / CONFIG_FILE)
    try:
        arrays, _ = read_tensors(weights, BackboneError)
        # Float32 stays a view of the mapped file: a large model is held once, by whatever runs it.
        tensors = {name: np.require(each, np.float32, "C") for name, each in arrays.items() if each.dtype.kind == "f"}
        return Checkpoint.from_tensors(tensors, config, path.resolve())
    except BackboneError as error:
        raise error if str(weights) in str(error) else BackboneError(f"{weights}: {error}") from None


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BackboneError(
            f"there is no {path.name} beside the weights in {path.parent}; timm writes it with every model"
        ) from None
    except (OSError, ValueError) as error:
        raise BackboneError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(config, dict) or not config.get("architecture"):
        raise BackboneError(f'{path} does not name its "architecture", as a config of timm does')
    return config
