"""The shape of a plain vision transformer, read off its tensors' names and shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from foro.backbones.timm_table import timm_vits
from foro.errors import BackboneError

Shapes = Mapping[str, tuple[int, ...]]
Activation = Literal["gelu", "quick_gelu", "gelu_tanh"]

_ACTIVATIONS = ("gelu", "quick_gelu", "gelu_tanh")
# Parts of a checkpoint that come after the CLS token FoRo reads, or that only training needs.
_UNUSED = re.compile(r"(head|head_drop|fc_norm|pre_logits)\.|mask_token$")


@dataclass(frozen=True)
class Architecture:
    """Everything a runtime has to know besides the weights."""

    patch_size: int
    dim: int
    depth: int
    heads: int
    mlp_hidden: int
    grid: int
    """Side of the square of patches that the position embedding was trained for."""
    eps: float = 1e-6
    activation: Activation = "gelu"
    register_tokens: int = 0
    no_embed_class: bool = False
    """Position embeddings cover the patches only, not CLS and registers."""
    patch_bias: bool = True
    pre_norm: bool = False
    qkv_bias: bool = True
    qk_norm: bool = False
    proj_bias: bool = True
    layer_scale: bool = False
    final_norm: bool = True

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.dim // self.heads

    @property
    def prefix_tokens(self) -> int:
        """CLS and registers."""
        return 1 + self.register_tokens

    @property
    def mean_blocks(self) -> range:
        """Blocks whose mean patch token is read: a quarter of the depth, before the last block, which has CLS only."""
        return range(self.depth - 1 - min(self.depth - 1, (self.depth + 2) // 4), self.depth - 1)

    @property
    def outputs(self) -> int:
        """Tokens that ``forward`` gives for an image: the CLS of every layer, then the mean patch tokens."""
        return self.depth + len(self.mean_blocks)

    def tokens(self, image_size: int) -> int:
        """Tokens of one image without a prompt (m)."""
        return self.prefix_tokens + (image_size // self.patch_size) ** 2

    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor that is used."""
        dim, hidden, patch = self.dim, self.mlp_hidden, self.patch_size
        positions = self.grid**2 + (0 if self.no_embed_class else self.prefix_tokens)
        shapes: dict[str, tuple[int, ...]] = {
            "cls_token": (1, 1, dim),
            "pos_embed": (1, positions, dim),
            "patch_embed.proj.weight": (dim, 3, patch, patch),
        }
        if self.register_tokens:
            shapes["reg_token"] = (1, self.register_tokens, dim)
        if self.patch_bias:
            shapes["patch_embed.proj.bias"] = (dim,)
        norms = [*(["norm_pre"] if self.pre_norm else []), *(["norm"] if self.final_norm else [])]
        for index in range(self.depth):
            block = f"blocks.{index}"
            norms += [f"{block}.norm1", f"{block}.norm2"]
            shapes |= _linear(f"{block}.attn.qkv", 3 * dim, dim, self.qkv_bias)
            shapes |= _linear(f"{block}.attn.proj", dim, dim, self.proj_bias)
            shapes |= _linear(f"{block}.mlp.fc1", hidden, dim, self.proj_bias)
            shapes |= _linear(f"{block}.mlp.fc2", dim, hidden, self.proj_bias)
            if self.layer_scale:
                shapes |= {f"{block}.ls1.gamma": (dim,), f"{block}.ls2.gamma": (dim,)}
            if self.qk_norm:
                for name in ("q_norm", "k_norm"):
                    for part in ("weight", "bias"):
                        shapes[f"{block}.attn.{name}.{part}"] = (self.head_dim,)
        for norm in norms:
            shapes |= {f"{norm}.weight": (dim,), f"{norm}.bias": (dim,)}
        return shapes


def _linear(name: str, rows: int, columns: int, bias: bool) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {f"{name}.weight": (rows, columns)}
    if bias:
        shapes[f"{name}.bias"] = (rows,)
    return shapes


def infer_architecture(shapes: Shapes, config: Mapping[str, Any]) -> Architecture:
    """Architecture of a checkpoint, or a BackboneError that says why it cannot be run.

    Number of heads, epsilon and activation are in no tensor: they come from ``model_args`` of the config,
    else from the table of timm's architectures, else from the convention of plain ViTs (heads of 64, 1e-6,
    GELU).
    """
    _refuse_foreign(shapes)
    dim, depth = shapes["cls_token"][-1], 1 + max(_block_indices(shapes))
    arguments: Mapping[str, Any] = config.get("model_args") or {}
    known = timm_vits().get(str(config.get("architecture")), {})
    activation = str(arguments.get("act_layer") or known.get("activation", "gelu")).lower()
    if activation not in _ACTIVATIONS:
        raise BackboneError(f"the activation must be one of {', '.join(_ACTIVATIONS)}, not {activation!r}")
    patch_size = shapes["patch_embed.proj.weight"][-1]
    registers = shapes["reg_token"][1] if "reg_token" in shapes else 0
    grid, no_embed_class = _position_grid(shapes["pos_embed"], 1 + registers, patch_size, config)
    architecture = Architecture(
        patch_size=patch_size,
        dim=dim,
        depth=depth,
        heads=_heads(dim, arguments.get("num_heads") or known.get("heads")),
        mlp_hidden=shapes["blocks.0.mlp.fc1.weight"][0],
        grid=grid,
        eps=float(arguments.get("layer_norm_eps") or known.get("eps", 1e-6)),
        activation=cast(Activation, activation),
        register_tokens=registers,
        no_embed_class=no_embed_class,
        patch_bias="patch_embed.proj.bias" in shapes,
        pre_norm="norm_pre.weight" in shapes,
        qkv_bias="blocks.0.attn.qkv.bias" in shapes,
        qk_norm="blocks.0.attn.q_norm.weight" in shapes,
        proj_bias="blocks.0.attn.proj.bias" in shapes,
        layer_scale="blocks.0.ls1.gamma" in shapes,
        final_norm="norm.weight" in shapes,
    )
    _check_tensors(shapes, architecture.tensor_shapes())
    return architecture


def _refuse_foreign(shapes: Shapes) -> None:
    """Name the reason where a checkpoint is of a kind that has no plain ViT inside."""
    names = "\n".join(shapes)
    reasons = [
        (
            "dist_token" in shapes,
            "it is a distilled DeiT (dist_token), whose second class token is not supported",
        ),
        ("patch_embed.backbone." in names, "its patches come from a convolutional network (a hybrid ViT)"),
        ("rope" in names or "freqs" in names, "it uses rotary position embeddings (as EVA-02 does)"),
        ("relative_position" in names, "it uses relative position embeddings (as BEiT does)"),
        (
            "blocks.0.attn.qkv.weight" not in shapes or "patch_embed.proj.weight" not in shapes,
            "it is not a plain vision transformer (convolutional, hierarchical and parallel-block models "
            "such as ResNet, ConvNeXt or Swin cannot be used)",
        ),
        (
            "cls_token" not in shapes,
            "it has no CLS token; choose a model that is not pooled over its patches",
        ),
        ("pos_embed" not in shapes, "it has no absolute position embedding (pos_embed)"),
        (_is_gated(shapes), "its MLP is gated (SwiGLU), which is not supported"),
        ("blocks.0.mlp.fc1.weight" not in shapes, "tensor blocks.0.mlp.fc1.weight is missing"),
        (len(shapes.get("patch_embed.proj.weight", ())) != 4, "its patch embedding is not a convolution"),
    ]
    for applies, reason in reasons:
        if applies:
            raise BackboneError(f"this checkpoint cannot be a backbone: {reason}")


def _is_gated(shapes: Shapes) -> bool:
    if any(f"blocks.0.mlp.{name}.weight" in shapes for name in ("w12", "w1", "fc1_g")):
        return True
    fc1, fc2 = shapes.get("blocks.0.mlp.fc1.weight"), shapes.get("blocks.0.mlp.fc2.weight")
    return fc1 is not None and fc2 is not None and fc1[0] == 2 * fc2[-1]


def _block_indices(shapes: Shapes) -> set[int]:
    return {int(name.split(".")[1]) for name in shapes if re.match(r"blocks\.\d+\.", name)}


def _heads(dim: int, heads: object) -> int:
    if heads is None:
        if dim % 64:
            raise BackboneError(
                f"the number of attention heads of a {dim}-wide ViT cannot be guessed; "
                'add "model_args": {"num_heads": ...} to its config.json'
            )
        return dim // 64
    if not isinstance(heads, int) or heads < 1 or dim % heads:
        raise BackboneError(f"a width of {dim} cannot be divided into {heads!r} attention heads; see config.json")
    return heads


def _position_grid(shape: tuple[int, ...], prefix: int, patch_size: int, config: Mapping[str, Any]) -> tuple[int, bool]:
    """Side of the grid of patches, and whether the prefix has no position."""
    positions = shape[1] if len(shape) == 3 else 0
    candidates = {}
    for no_embed_class, patches in ((False, positions - prefix), (True, positions)):
        if patches > 0 and math.isqrt(patches) ** 2 == patches:
            candidates[no_embed_class] = math.isqrt(patches)
    if len(candidates) == 2:
        # Both readings are squares (9 positions, 5 of them a prefix): the image size decides.
        size = (config.get("pretrained_cfg") or {}).get("input_size") or (3, 224, 224)
        candidates = {key: side for key, side in candidates.items() if side == size[-1] // patch_size}
    if len(candidates) != 1:
        raise BackboneError(f"the position embedding of shape {shape} is not that of a square grid of patches")
    ((no_embed_class, side),) = candidates.items()
    return side, no_embed_class


def _check_tensors(found: Shapes, expected: Shapes) -> None:
    missing = [name for name in expected if name not in found]
    if missing:
        raise BackboneError(f"this checkpoint is incomplete: {_first(missing)} missing")
    unknown = [name for name in found if name not in expected and not _UNUSED.match(name)]
    if unknown:
        raise BackboneError(f"this checkpoint is not of a plain vision transformer: {_first(unknown)} unknown")
    for name, shape in expected.items():
        if found[name] != shape:
            raise BackboneError(f"Tensor {name} has shape {found[name]} where {shape} was expected")


def _first(names: list[str]) -> str:
    listed = ", ".join(names[:3])
    verb = "is" if len(names) == 1 else "are"
    return f"{listed}{f' and {len(names) - 3} more' if len(names) > 3 else ''} {verb}"
