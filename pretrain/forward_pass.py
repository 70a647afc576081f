"""The forward pass of student and teacher, with what training reads on the way.

Nothing reads the patch tokens after the last block, so the last block computes the class token alone: the same
class token for about a sixth of the block's work.
Matrix products are in bfloat16, two to three times as fast on a processor that has instructions for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor

bfloat16 = torch.autocast("cpu", torch.bfloat16)


@dataclass(frozen=True)
class Outputs:
    """What a vision transformer says about a batch.

    Attributes:
        cls: the class token after the final norm (B, D).
        tokens: the patch tokens that enter the last block (B, K, D).
        depths: class token and mean patch token after each of the blocks asked for (B, P, 2, D), each token
            normalised on its own.
    """

    cls: Tensor
    tokens: Tensor
    depths: Tensor


@bfloat16
def forward(model: VisionTransformer, x: Tensor, keep: Tensor | None = None, depths: tuple[int, ...] = ()) -> Outputs:
    """Look at pictures `x` (B, 3, H, W); the last block is computed for the class token only.

    `keep` (B, K) holds the numbers of the patches to look at; without it all are looked at. `depths` are the
    numbers of blocks, counted from one, after which class token and mean patch token are wanted.
    """
    prefix = model.num_prefix_tokens
    x = model._pos_embed(model.patch_embed(x))
    if keep is not None:
        patches = x[:, prefix:].gather(1, keep.unsqueeze(2).expand(-1, -1, x.shape[2]))
        x = torch.cat((x[:, :prefix], patches), 1)
    found = []
    for number, block in enumerate(model.blocks[:-1], 1):
        x = block(x)
        if number in depths:
            found.append(torch.stack((x[:, 0], x[:, prefix:].mean(1)), 1))
    cls = model.norm(last_block_cls(model.blocks[-1], x))
    taken = torch.stack(found, 1) if found else x.new_empty(len(x), 0, 2, x.shape[2])
    return Outputs(cls.float(), x[:, prefix:].float(), F.layer_norm(taken.float(), taken.shape[-1:]))


def last_block_cls(block: Block, x: Tensor) -> Tensor:
    """Return `block(x)[:, 0]` for the tokens `x` (B, N, D) without computing the other tokens."""
    attention = block.attn
    batch, _, dim = x.shape
    normed = block.norm1(x)
    weight, bias = attention.qkv.weight, attention.qkv.bias
    query = F.linear(normed[:, :1], weight[:dim], bias[:dim])
    key, value = F.linear(normed, weight[dim:], bias[dim:]).chunk(2, -1)
    query, key, value = (
        t.unflatten(2, (attention.num_heads, attention.head_dim)).transpose(1, 2) for t in (query, key, value)
    )
    mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(batch, dim)
    cls = x[:, 0] + attention.proj(mixed)
    return cls + block.mlp(block.norm2(cls))
