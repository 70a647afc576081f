"""A vision transformer in float64 NumPy, to be read; every runtime is compared with it. And random weights for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from scipy.special import erf

from foro.backbones.architecture import Architecture
from foro.backbones.checkpoint import Checkpoint
from foro.backbones.position import resample_position_embedding

Array = NDArray[np.float64]


def embed(checkpoint: Checkpoint, pixels: NDArray[np.float32]) -> Array:
    """Tokens (n, m, dim) of pixels (n, 3, S, S)."""
    a, w = checkpoint.architecture, checkpoint.tensors
    n, _, size, _ = pixels.shape
    grid, p = size // a.patch_size, a.patch_size
    patches = pixels.astype(np.float64).reshape(n, 3, grid, p, grid, p).transpose(0, 2, 4, 1, 3, 5)
    x = patches.reshape(n, grid * grid, -1) @ w["patch_embed.proj.weight"].reshape(a.dim, -1).T
    if a.patch_bias:
        x = x + w["patch_embed.proj.bias"]
    prefix = [np.broadcast_to(w["cls_token"], (n, 1, a.dim))]
    if a.register_tokens:
        prefix.append(np.broadcast_to(w["reg_token"], (n, a.register_tokens, a.dim)))
    positions = resample_position_embedding(w["pos_embed"], 0 if a.no_embed_class else a.prefix_tokens, grid)
    if a.no_embed_class:
        x = np.concatenate([*prefix, x + positions], axis=1)
    else:
        x = np.concatenate([*prefix, x], axis=1) + positions
    return _norm(x, "norm_pre", checkpoint) if a.pre_norm else x


def forward(
    checkpoint: Checkpoint, tokens: NDArray[Any], prompts: NDArray[Any], gains: NDArray[Any] | None = None
) -> Array:
    """What is read (K, n, outputs, dim) of tokens (n, m, dim) for prompts (K, P, dim) and gains (K, depth, 3)."""
    neutral = np.zeros((len(prompts), checkpoint.architecture.depth, 3))
    candidates = zip(prompts, neutral if gains is None else gains, strict=True)
    return np.stack([_forward_one(checkpoint, tokens.astype(np.float64), *each) for each in candidates])


def _forward_one(checkpoint: Checkpoint, tokens: Array, prompt: NDArray[Any], gains: NDArray[Any]) -> Array:
    a, w = checkpoint.architecture, checkpoint.tensors
    prompt = np.broadcast_to(prompt, (len(tokens), *prompt.shape))
    prefix, patches = tokens[:, 1 : a.prefix_tokens], tokens[:, a.prefix_tokens :]
    x = np.concatenate([tokens[:, :1], prompt, prefix, patches], axis=1)
    layers, means = [], []
    for i, (attention, mlp, query) in enumerate(np.exp(gains.astype(np.float64))):
        block = f"blocks.{i}"
        y = _attention(_norm(x, f"{block}.norm1", checkpoint), f"{block}.attn", checkpoint, query)
        x = x + attention * (y * w[f"{block}.ls1.gamma"] if a.layer_scale else y)
        y = _linear(_norm(x, f"{block}.norm2", checkpoint), f"{block}.mlp.fc1", checkpoint)
        y = _linear(ACTIVATIONS[a.activation](y), f"{block}.mlp.fc2", checkpoint)
        x = x + mlp * (y * w[f"{block}.ls2.gamma"] if a.layer_scale else y)
        layers.append(x[:, 0])
        if i in a.mean_blocks:
            means.append(x[:, -patches.shape[1] :].mean(axis=1))
    if a.final_norm:
        layers[-1] = _norm(layers[-1], "norm", checkpoint)
    return np.stack(layers + means, axis=1)


def _attention(x: Array, name: str, checkpoint: Checkpoint, query: float) -> Array:
    a = checkpoint.architecture
    n, length, _ = x.shape
    qkv = _linear(x, f"{name}.qkv", checkpoint).reshape(n, length, 3, a.heads, a.head_dim)
    q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    if a.qk_norm:
        q, k = _norm(q, f"{name}.q_norm", checkpoint), _norm(k, f"{name}.k_norm", checkpoint)
    scores = query * q @ k.transpose(0, 1, 3, 2) / np.sqrt(a.head_dim)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attended = (scores / scores.sum(axis=-1, keepdims=True)) @ v
    return _linear(attended.transpose(0, 2, 1, 3).reshape(n, length, a.dim), f"{name}.proj", checkpoint)


def _linear(x: Array, name: str, checkpoint: Checkpoint) -> Array:
    w = checkpoint.tensors
    y = x @ w[f"{name}.weight"].T.astype(np.float64)
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def _norm(x: Array, name: str, checkpoint: Checkpoint) -> Array:
    w, eps = checkpoint.tensors, checkpoint.architecture.eps
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps) * w[f"{name}.weight"] + w[f"{name}.bias"]


ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


def random_checkpoint(architecture: Architecture, image_size: int, seed: int = 0) -> Checkpoint:
    """Weights large enough that every part of the model shows in its output."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, shape in architecture.tensor_shapes().items():
        scale = 1.0 if len(shape) == 3 else 0.3 if len(shape) == 1 else 1.5 / np.sqrt(np.prod(shape[1:]))
        centre = 1.0 if name.endswith(("norm.weight", "norm1.weight", "norm2.weight", "gamma")) else 0.0
        tensors[name] = (centre + scale * rng.standard_normal(shape)).astype(np.float32)
    config = {
        "architecture": "vit_random",
        "model_args": {
            "num_heads": architecture.heads,
            "act_layer": architecture.activation,
            "layer_norm_eps": architecture.eps,
        },
        "pretrained_cfg": {"tag": "test", "input_size": [3, image_size, image_size], "crop_pct": 1.0},
    }
    return Checkpoint.from_tensors(tensors, config)


def save_checkpoint(checkpoint: Checkpoint, folder: Path) -> Path:
    """Write a checkpoint as the hub would hold it."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(checkpoint.tensors), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(checkpoint.config))
    return folder


def tiny_checkpoint(seed: int = 0) -> Checkpoint:
    """A plain ViT of 32 px that runs in a millisecond."""
    architecture = Architecture(patch_size=8, dim=32, depth=3, heads=2, mlp_hidden=64, grid=4)
    return random_checkpoint(architecture, 32, seed)
