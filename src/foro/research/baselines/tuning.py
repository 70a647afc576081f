"""Ways to adapt a vision transformer of timm to a task: few new parameters beside frozen ones, or all of them.

* ``adapter``: a narrow bottleneck beside each block's MLP. Shoufa Chen et al., AdaptFormer: Adapting Vision
  Transformers for Scalable Visual Recognition, NeurIPS 2022.
* ``ssf``: a scale and a shift after each linear layer and norm. Dongze Lian et al., Scaling & Shifting Your Features:
  A New Baseline for Efficient Model Tuning, NeurIPS 2022.
* ``vpt_shallow``, ``vpt_deep``: learned tokens before the first block, or new ones before each. Menglin Jia et al.,
  Visual Prompt Tuning, ECCV 2022.
* ``full``: every parameter.

An untrained adapter or scale and shift changes nothing. SSF's authors start from a little noise around that instead.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal

Adaptation = Literal["none", "adapter", "ssf", "vpt_shallow", "vpt_deep", "full"]

ADAPTER_SCALE = 0.1
ADAPTER_DROPOUT = 0.1
"""Both AdaptFormer's, also in the code of ADAM, RanPAC and LayUP."""


def tune(model: Any, adaptation: str, width: int, tokens: int, generator: Any) -> dict[str, Any]:
    """Changes a model in place so that it can be adapted, and returns the parameters to train by name.

    ``width`` is an adapter's, ``tokens`` are those of a prompt; ``generator`` is torch's, for what starts at random.
    """
    model.requires_grad_(adaptation == "full")
    if adaptation == "adapter":
        for block in model.blocks:
            _add_adapter(block, width, generator)
    elif adaptation == "ssf":
        for layer in _affine_layers(model):
            _add_scale_and_shift(layer)
    elif adaptation == "vpt_shallow":
        _add_prompt(model, model.blocks[0], tokens, generator, keep=True)
    elif adaptation == "vpt_deep":
        for block in model.blocks:
            _add_prompt(model, block, tokens, generator, keep=False)
    return {name: each for name, each in model.named_parameters() if each.requires_grad}


def _add_adapter(block: Any, width: int, generator: Any) -> None:
    from torch import nn

    weight = block.norm1.weight
    down, up = nn.Linear(len(weight), width), nn.Linear(width, len(weight))
    nn.init.kaiming_uniform_(down.weight, a=math.sqrt(5), generator=generator)
    for zero in (down.bias, up.weight, up.bias):
        nn.init.zeros_(zero)
    block.adapter = nn.Sequential(down, nn.ReLU(), nn.Dropout(ADAPTER_DROPOUT), up).to(weight.device)
    block.forward = partial(_adapted_block, block)


def _adapted_block(block: Any, x: Any) -> Any:
    """timm's block with the adapter beside the MLP."""
    x = x + block.ls1(block.attn(block.norm1(x)))
    return x + block.ls2(block.mlp(block.norm2(x))) + ADAPTER_SCALE * block.adapter(x)


def _affine_layers(model: Any) -> list[Any]:
    """Every layer that SSF puts a scale and a shift after."""
    layers = [model.patch_embed.proj]
    for block in model.blocks:
        layers += [block.norm1, block.attn.qkv, block.attn.proj, block.norm2, block.mlp.fc1, block.mlp.fc2]
    return layers + [model.norm] * hasattr(model.norm, "weight")


def _add_scale_and_shift(layer: Any) -> None:
    import torch
    from torch import nn

    width, device = len(layer.weight), layer.weight.device
    shape = (width, 1, 1) if isinstance(layer, nn.Conv2d) else (width,)
    layer.ssf_scale = nn.Parameter(torch.ones(shape, device=device))
    layer.ssf_shift = nn.Parameter(torch.zeros(shape, device=device))
    plain = layer.forward
    layer.forward = lambda x: plain(x) * layer.ssf_scale + layer.ssf_shift


def _add_prompt(model: Any, block: Any, tokens: int, generator: Any, keep: bool) -> None:
    """Tokens after CLS, where the backbones of FoRo have their prompts, too; not kept, they end with this block."""
    import torch
    from torch import nn

    weight = model.patch_embed.proj.weight
    bound = math.sqrt(6 / (weight[0].numel() + len(weight)))  # as the paper's own code
    prompt = torch.empty(tokens, len(weight)).uniform_(-bound, bound, generator=generator)
    block.prompt = nn.Parameter(prompt.to(weight.device))
    plain = block.forward

    def prompted(x: Any) -> Any:
        own = block.prompt.to(x.dtype).expand(len(x), -1, -1)
        y = plain(torch.cat([x[:, :1], own, x[:, 1:]], dim=1))
        return y if keep else torch.cat([y[:, :1], y[:, 1 + tokens :]], dim=1)

    block.forward = prompted
