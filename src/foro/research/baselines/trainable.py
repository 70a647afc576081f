"""A frozen backbone's weights as a vision transformer of timm, which torch can train."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.backbones.runtimes.checkpoint_runtime import CheckpointRuntime
from foro.backbones.runtimes.torch_runtime import build_vit, find_device, import_torch
from foro.errors import BackboneError
from foro.features.extractor import BATCH
from foro.images.load import Images, pixel_batches
from foro.images.preprocessing import Preprocessing
from foro.util.progress import progress_bar


def trainable_vit(backbone: Backbone, frozen: bool = False) -> Any:
    """A new ``timm`` VisionTransformer with the backbone's weights, on the fastest device there is.

    It computes what the backbone computes; every parameter asks for gradients, or with ``frozen`` none.
    """
    torch = import_torch("training")
    if not isinstance(backbone, CheckpointRuntime):
        raise BackboneError(f"{backbone.name} has no weights to train from; load it by foro.load_backbone")
    model = build_vit(torch, backbone.checkpoint(), backbone.image_size).to(find_device(torch)).eval()
    return model.requires_grad_(not frozen)


def sequence(model: Any, pixels: Any, prompts: Any = None) -> Any:
    """All tokens after the final norm (n, 1 + P + m, dim), CLS first, then those of the prompts (P or n × P, dim).

    Prompts are put in as the backbone does it: after CLS, without a position.
    """
    import torch

    tokens = model.norm_pre(model._pos_embed(model.patch_embed(pixels)))
    if prompts is not None:
        own = prompts.expand(len(tokens), -1, -1) if prompts.ndim == 2 else prompts
        tokens = torch.cat([tokens[:, :1], own.to(tokens.dtype), tokens[:, 1:]], dim=1)
    for block in model.blocks:
        tokens = block(tokens)
    return model.norm(tokens)


def cls_features(model: Any, pixels: Any, prompts: Any = None) -> Any:
    """The last CLS (n, dim) of pixels (n, 3, S, S), as the backbone's own last layer."""
    return sequence(model, pixels, prompts)[:, 0]


def batched(
    function: Callable[[Any], Any], images: Images, preprocessing: Preprocessing, device: Any, doing: str = "predicting"
) -> NDArray[np.float32]:
    """The results of a torch function of pixels (b, 3, S, S) for all images, in batches and without gradients."""
    import torch

    parts = []
    with torch.inference_mode(), progress_bar(doing, len(images)) as advance:
        for pixels in pixel_batches(images, preprocessing, BATCH):
            parts.append(function(torch.from_numpy(pixels).to(device)).float().cpu().numpy())
            advance(len(pixels))
    return np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)


def to_arrays(module: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Every parameter and buffer of a module by its name, as arrays."""
    return {f"{prefix}{name}": each.detach().cpu().numpy().copy() for name, each in module.state_dict().items()}


def from_arrays(module: Any, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> None:
    """Puts the arrays of ``to_arrays`` back into a module of the same shape."""
    import torch

    own = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
    module.load_state_dict({name: torch.from_numpy(np.array(each)) for name, each in own.items()}, strict=True)
