"""The runtime of the ``torch`` extra: timm's own vision transformer, on a CPU or a GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

from foro.backbones.architecture import Architecture
from foro.backbones.checkpoint import Checkpoint
from foro.backbones.position import resample_position_embedding
from foro.backbones.runtimes.checkpoint_runtime import CheckpointRuntime
from foro.backbones.runtimes.microbatch import DEFAULT_MEMORY_BUDGET
from foro.errors import BackboneError, first_line
from foro.types import Float32
from foro.util.threads import thread_count

# A GPU is filled by more sequences than a CPU; the memory budget still bounds them.
_ENOUGH_ON_GPU = 256


class TorchBackbone(CheckpointRuntime):
    """A ``Backbone`` run by torch and timm; see ``load_backbone`` for the arguments.

    ``threads`` is torch's own setting and holds for the whole process.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        image_size: int | None = None,
        threads: int | None = None,
        device: str = "auto",
        memory_budget: int = DEFAULT_MEMORY_BUDGET,
    ) -> None:
        torch = import_torch()
        if threads is not None and threads < 1:
            raise BackboneError(f"threads must be at least 1, not {threads}")
        if threads is not None or torch.get_num_threads() > thread_count():
            torch.set_num_threads(threads or thread_count())
        super().__init__(checkpoint, image_size, memory_budget)
        self._torch = torch
        self._device = find_device(torch, device)
        if self._device.type != "cpu":
            self._most_embedded = self._most_forwarded = _ENOUGH_ON_GPU
        self._model = build_vit(torch, checkpoint, self.image_size).to(self._device).eval()

    def _run_embed(self, pixels: Float32) -> Float32:
        model = self._model
        with self._torch.inference_mode():
            tokens: Float32 = model.norm_pre(model._pos_embed(model.patch_embed(self._tensor(pixels)))).cpu().numpy()
        return tokens

    def _rebuilt(self, checkpoint: Checkpoint) -> TorchBackbone:
        return TorchBackbone(
            checkpoint, image_size=self.image_size, device=str(self._device), memory_budget=self._memory_budget
        )

    def _run_forward(self, tokens: Float32, prompts: Float32, gains: Float32 | None) -> Float32:
        torch, model = self._torch, self._model
        images, candidates = len(tokens), len(prompts)
        first_patch = self._architecture.prefix_tokens + prompts.shape[1]
        with torch.inference_mode():
            shared = self._tensor(tokens).expand(candidates, -1, -1, -1)
            own = self._tensor(prompts)[:, None].expand(-1, images, -1, -1)
            x = torch.cat([shared[:, :, :1], own, shared[:, :, 1:]], dim=2).flatten(0, 1)
            factors = None if gains is None else self._tensor(gains).exp()
            layers, means = [], []
            for number, block in enumerate(model.blocks):
                if factors is None:
                    x = block(x)
                else:
                    parts = zip(x.unflatten(0, (candidates, images)), factors[:, number], strict=True)
                    x = torch.cat([self._gained(block, each, factor) for each, factor in parts])
                layers.append(x[:, 0])
                if number in self._architecture.mean_blocks:
                    means.append(x[:, first_patch:].mean(dim=1))
            layers[-1] = model.norm(layers[-1])
            read: Float32 = torch.stack(layers + means, dim=1).unflatten(0, (candidates, images)).cpu().numpy()
        return read

    def _gained(self, block: Any, x: Any, factors: Any) -> Any:
        """A block with factors (3,) of its attention, its MLP and its queries."""
        if self._architecture.qk_norm:
            scaled = {f"q_norm.{name}": each * factors[2] for name, each in block.attn.q_norm.named_parameters()}
        else:
            rows = self._torch.ones(3 * self.dim, device=self._device)
            rows[: self.dim] = factors[2]
            scaled = {
                f"qkv.{name}": each * (rows[:, None] if each.ndim == 2 else rows)
                for name, each in block.attn.qkv.named_parameters()
            }
        attended = self._torch.func.functional_call(block.attn, scaled, (block.norm1(x),))
        x = x + factors[0] * block.ls1(attended)
        return x + factors[1] * block.ls2(block.mlp(block.norm2(x)))

    def _tensor(self, array: Float32) -> Any:
        # A copy: torch warns about read-only arrays that it could write to.
        return self._torch.tensor(array, device=self._device)


def import_torch(user: str = "the torch runtime") -> Any:
    """The module torch, or an error that says how to get it."""
    try:
        import timm  # noqa: F401  # so that an incomplete extra is reported, too
        import torch
    except ImportError as error:
        raise BackboneError(f'{user} needs the torch extra: pip install "foro[torch]" ({error})') from None
    return torch


def find_device(torch: Any, name: str = "auto") -> Any:
    """The device of a name; ``auto`` is the fastest one here."""
    if name == "auto":
        accelerators = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
        name = next((kind for kind, usable in accelerators.items() if usable), "cpu")
    try:
        torch.empty(1, device=name)
        return torch.device(name)
    except Exception as error:
        raise BackboneError(f"torch cannot use the device {name!r} here: {first_line(error)}") from None


def build_vit(torch: Any, checkpoint: Checkpoint, image_size: int) -> Any:
    """timm's VisionTransformer with the checkpoint's weights, positions resampled as every runtime does."""
    architecture = checkpoint.architecture
    with torch.device("meta"):
        model = _skeleton(torch, architecture, image_size)
    state = {name: torch.tensor(checkpoint.tensors[name]) for name in architecture.tensor_shapes()}
    prefix = 0 if architecture.no_embed_class else architecture.prefix_tokens
    grid = image_size // architecture.patch_size
    state["pos_embed"] = torch.tensor(resample_position_embedding(checkpoint.tensors["pos_embed"], prefix, grid))
    model.load_state_dict(state, strict=True, assign=True)
    return model


def _skeleton(torch: Any, architecture: Architecture, image_size: int) -> Any:
    from timm.models.vision_transformer import VisionTransformer

    model = VisionTransformer(
        img_size=image_size,
        patch_size=architecture.patch_size,
        num_classes=0,
        global_pool="token",
        embed_dim=architecture.dim,
        depth=architecture.depth,
        num_heads=architecture.heads,
        # timm truncates dim * mlp_ratio; half a unit more survives the rounding of the ratio.
        mlp_ratio=(architecture.mlp_hidden + 0.5) / architecture.dim,
        qkv_bias=architecture.qkv_bias,
        qk_norm=architecture.qk_norm,
        proj_bias=architecture.proj_bias,
        init_values=1.0 if architecture.layer_scale else None,
        no_embed_class=architecture.no_embed_class,
        reg_tokens=architecture.register_tokens,
        pre_norm=architecture.pre_norm,
        fc_norm=False,
        weight_init="skip",
        norm_layer=partial(torch.nn.LayerNorm, eps=architecture.eps),
        act_layer=architecture.activation,
    )
    if not architecture.final_norm:
        model.norm = torch.nn.Identity()
    if architecture.patch_bias is architecture.pre_norm:
        # timm ties the two together; a checkpoint need not.
        patch, dim = architecture.patch_size, architecture.dim
        model.patch_embed.proj = torch.nn.Conv2d(3, dim, patch, stride=patch, bias=architecture.patch_bias)
    return model
