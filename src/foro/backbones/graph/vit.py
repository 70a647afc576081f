"""Two ONNX graphs from a checkpoint: pixels to tokens, and tokens with candidates to what is read of every layer.

Only standard operators are used. Fused ones (``MultiHeadAttention``, ``BiasGelu``, opset 23's ``Attention``)
gained less than 5 % on a CPU at 8 sequences a run, because matrix products take four fifths of the time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foro.backbones.checkpoint import Checkpoint
from foro.backbones.graph.builder import Graph, GraphBuilder
from foro.backbones.graph.linear import Precision, linear
from foro.backbones.position import resample_position_embedding
from foro.types import Float32

_FLOAT = 1  # ONNX's number of float32


def build_embed_graph(checkpoint: Checkpoint, image_size: int) -> Graph:
    """Graph from ``pixels`` (n, 3, image_size, image_size) to ``tokens`` (n, m, dim)."""
    builder = GraphBuilder()
    tokens = Transformer(builder, checkpoint).embed("pixels", image_size)
    architecture = checkpoint.architecture
    return builder.finish(
        {"pixels": ("n", 3, image_size, image_size)},
        tokens,
        ("n", architecture.tokens(image_size), architecture.dim),
        "tokens",
    )


def build_forward_graph(
    checkpoint: Checkpoint, precision: Precision = "float32", plain: bool = False, gains: bool = False
) -> Graph:
    """Graph from ``tokens`` (n, m, dim) and ``prompts`` (K, P, dim) to ``layers`` (K, n, outputs, dim).

    With ``gains`` it has one more input of that name, (K, depth, 3). A ``plain`` one computes every token of the last
    block too: the yardstick of tests and benchmarks.
    """
    builder = GraphBuilder()
    transformer = Transformer(builder, checkpoint, precision)
    sequences = transformer.insert_prompts("tokens", "prompts")
    prefix = builder.integers(checkpoint.architecture.prefix_tokens)
    first_patch = builder.add("Add", transformer.size("prompts", 1), prefix)
    candidates, images = transformer.size("prompts", 0), transformer.size("tokens", 0)
    factors = transformer.factors("gains", images) if gains else None
    read = transformer.encode(sequences, first_patch, plain, factors)
    dim, depth, outputs = checkpoint.architecture.dim, checkpoint.architecture.depth, checkpoint.architecture.outputs
    stacked = builder.add("Concat", *[builder.add("Unsqueeze", x, builder.integers(1)) for x in read], axis=1)
    shape = builder.add("Concat", candidates, images, builder.integers(outputs, dim), axis=0)
    inputs: dict[str, tuple[int | str, ...]] = {"tokens": ("n", "m", dim), "prompts": ("K", "P", dim)}
    return builder.finish(
        inputs | ({"gains": ("K", depth, 3)} if gains else {}),
        builder.add("Reshape", stacked, shape),
        ("K", "n", outputs, dim),
        "layers",
    )


class Transformer:
    """The pieces of a vision transformer as additions to one graph, to be composed."""

    def __init__(self, builder: GraphBuilder, checkpoint: Checkpoint, precision: Precision = "float32") -> None:
        self._builder = builder
        self._tensors = checkpoint.tensors
        self._architecture = checkpoint.architecture
        self._precision = precision

    def size(self, tensor: str, axis: int) -> str:
        """Length of one axis as a vector of one integer."""
        name: str = self._builder.add("Shape", tensor, start=axis, end=axis + 1)
        return name

    def embed(self, pixels: str, image_size: int) -> str:
        """Tokens (n, m, dim): CLS, registers and patches with their positions, after ``norm_pre``."""
        add, architecture, tensors = self._builder.add, self._architecture, self._tensors
        patch, dim, prefix = architecture.patch_size, architecture.dim, architecture.prefix_tokens
        weights = [self._weight("patch_embed.proj.weight")]
        if architecture.patch_bias:
            weights.append(self._weight("patch_embed.proj.bias"))
        grid = add("Conv", pixels, *weights, kernel_shape=[patch, patch], strides=[patch, patch])
        flat = add("Reshape", grid, self._builder.integers(0, dim, -1))
        patches = add("Transpose", flat, perm=[0, 2, 1])

        first = [tensors["cls_token"], *([tensors["reg_token"]] if architecture.register_tokens else [])]
        prefix_tokens: Float32 = np.concatenate(first, axis=1)
        with_position = 0 if architecture.no_embed_class else prefix
        positions = resample_position_embedding(tensors["pos_embed"], with_position, image_size // patch)
        if with_position:
            prefix_tokens = prefix_tokens + positions[:, :prefix]
        patch_positions = self._builder.weight("patch_positions", positions[:, with_position:])
        patches = add("Add", patches, patch_positions)
        shape = add("Concat", self.size(pixels, 0), self._builder.integers(prefix, dim), axis=0)
        before = add("Expand", self._builder.weight("prefix_tokens", prefix_tokens), shape)
        tokens: str = add("Concat", before, patches, axis=1)
        return self._norm(tokens, "norm_pre") if architecture.pre_norm else tokens

    def insert_prompts(self, tokens: str, prompts: str) -> str:
        """Sequences (K * n, 1 + P + m - 1, dim): the prompt's tokens between CLS and the rest of the tokens.

        Prompts enter the first block as they are, without a position and without ``norm_pre``.
        """
        add, dim = self._builder.add, self._architecture.dim
        candidates, images = self.size(prompts, 0), self.size(tokens, 0)
        parts = []
        axis, end = self._builder.integers(1), self._builder.integers(np.iinfo(np.int64).max)
        for begin, stop in ((self._builder.integers(0), axis), (axis, end)):
            part = add("Slice", tokens, begin, stop, axis)
            repeated = add("Concat", candidates, images, self.size(part, 1), self._builder.integers(dim), axis=0)
            parts.append(add("Expand", part, repeated))
        shape = add("Concat", candidates, images, self.size(prompts, 1), self._builder.integers(dim), axis=0)
        parts.insert(1, add("Expand", add("Unsqueeze", prompts, axis), shape))
        joined = add("Concat", *parts, axis=2)
        length = self.size(joined, 2)
        flat = add("Concat", self._builder.integers(-1), length, self._builder.integers(dim), axis=0)
        sequences: str = add("Reshape", joined, flat)
        return sequences

    def factors(self, gains: str, images: str) -> list[list[str]]:
        """For every block, what multiplies attention, MLP and queries of each sequence, (K * n,): exp of the gains.

        ``gains`` is (K, depth, 3), ``images`` the number n as a vector of one integer.
        """
        add, builder = self._builder.add, self._builder
        shape = add("Concat", self.size(gains, 0), images, builder.integers(self._architecture.depth, 3), axis=0)
        each = add("Expand", add("Unsqueeze", add("Exp", gains), builder.integers(1)), shape)
        flat = add("Reshape", each, builder.integers(-1, self._architecture.depth, 3))
        numbers = [builder.constant(np.array(number, np.int64)) for number in range(max(3, self._architecture.depth))]
        blocks = [add("Gather", flat, numbers[block], axis=1) for block in range(self._architecture.depth)]
        return [[add("Gather", block, numbers[kind], axis=1) for kind in range(3)] for block in blocks]

    def encode(
        self, sequences: str, first_patch: str, plain: bool = False, factors: list[list[str]] | None = None
    ) -> list[str]:
        """What is read of sequences (B, S, dim), each (B, dim): the CLS after every block, then mean patch tokens.

        The CLS of the last block is after the final norm. ``first_patch`` is where the patches begin, a vector of one
        integer; ``factors`` multiply parts of the blocks, see ``factors``.
        """
        add, builder, architecture = self._builder.add, self._builder, self._architecture
        batch, length = self.size(sequences, 0), self.size(sequences, 1)
        shape = add("Concat", batch, length, builder.integers(architecture.dim), axis=0)
        heads = builder.integers(architecture.heads, architecture.head_dim)
        split = add("Concat", batch, length, builder.integers(-1), heads, axis=0)
        zero = builder.constant(np.array(0, np.int64))
        rows = builder.integers(-1, architecture.dim)

        def cls(flat: str) -> str:
            row: str = add("Gather", add("Reshape", flat, shape), zero, axis=1)
            return row

        def times(x: str, block: int, kind: int, axes: int, back: str | None = None) -> str:
            """x times the factor of each sequence, as (B, …) with so many axes in all."""
            if factors is None:
                return x
            spread = add("Reshape", factors[block][kind], builder.integers(-1, *[1] * (axes - 1)))
            multiplied: str = add("Mul", x if back is None else add("Reshape", x, shape), spread)
            return multiplied if back is None else str(add("Reshape", multiplied, back))

        # Between blocks the residual stream is (B * S, dim): Gemm wants matrices, and takes timm's weights
        # (out, in) without a transposed copy.
        x = add("Reshape", sequences, rows)
        layers, means = [], []
        whole = architecture.depth - (not plain)  # blocks of which every token is computed
        for index in range(architecture.depth):
            name = f"blocks.{index}"
            normed = self._norm(x, f"{name}.norm1")
            if index < whole:
                query, key, value = self._projections(normed, f"{name}.attn", 0, 3, split)
            else:
                # Nothing reads the other tokens of the last block: CLS alone asks, and goes through the MLP.
                one = add("Concat", batch, builder.integers(1, -1), heads, axis=0)
                (query,) = self._projections(cls(normed), f"{name}.attn", 0, 1, one)
                key, value = self._projections(normed, f"{name}.attn", 1, 3, split)
                x = cls(x)
            attended = add("Reshape", self._attention(query, key, value, f"{name}.attn", index, times), rows)
            attended = self._scaled(self._linear(attended, f"{name}.attn.proj", self._precision), f"{name}.ls1.gamma")
            back = (3, rows) if index < whole else (2, None)
            x = add("Add", x, times(attended, index, 0, *back))
            hidden = self._linear(self._norm(x, f"{name}.norm2"), f"{name}.mlp.fc1", self._precision)
            # Never quantised: in one block of the ViT-Ti, three or four tokens are 70 times larger here than
            # the median, and one scale for all leaves the rest with no digits (cosine 0.96, else 0.998).
            output = self._linear(self._activation(hidden), f"{name}.mlp.fc2", "float32")
            x = add("Add", x, times(self._scaled(output, f"{name}.ls2.gamma"), index, 1, *back))
            layers.append(cls(x) if index < whole else x)
            if index in architecture.mean_blocks:
                patches = add("Slice", add("Reshape", x, shape), first_patch, length, builder.integers(1))
                means.append(self._mean(patches))
        if architecture.final_norm:
            layers[-1] = self._norm(layers[-1], "norm")
        return layers + means

    def _mean(self, patches: str) -> str:
        """Mean (B, dim) of patches (B, m, dim), as a product with ones.

        ``ReduceMean`` adds in an order that depends on B: an image that was learned among others could not be unlearned
        alone.
        """
        add, builder = self._builder.add, self._builder
        count = self.size(patches, 1)
        ones = add("Expand", builder.constant(np.ones((1, 1), np.float32)), count)
        total = add("Squeeze", add("MatMul", ones, patches), builder.integers(1))
        mean: str = add("Div", total, add("Cast", count, to=_FLOAT))
        return mean

    def _projections(self, x: str, name: str, first: int, last: int, shape: str) -> list[str]:
        """Queries, keys and values ``first`` to ``last`` of three, each (B, heads, tokens, head_dim)."""
        builder, dim, count = self._builder, self._architecture.dim, last - first
        rows = slice(first * dim, last * dim)
        weight = self._tensors[f"{name}.qkv.weight"][rows]
        bias = self._tensors[f"{name}.qkv.bias"][rows] if self._architecture.qkv_bias else None
        projected = linear(builder, x, f"{name}.qkv_{first}", weight, bias, self._precision)
        split = builder.add("Reshape", projected, shape)
        by_head = builder.add("Transpose", split, perm=[2, 0, 3, 1, 4])
        parts = builder.add("Split", by_head, outputs=count, axis=0, num_outputs=count) if count > 1 else [by_head]
        return [builder.add("Squeeze", part, builder.integers(0)) for part in parts]

    def _attention(
        self, query: str, key: str, value: str, name: str, block: int, times: Callable[[str, int, int, int], str]
    ) -> str:
        """Attended values (B, query tokens, heads, head_dim)."""
        add = self._builder.add
        if self._architecture.qk_norm:
            query, key = self._norm(query, f"{name}.q_norm"), self._norm(key, f"{name}.k_norm")
        query = times(query, block, 2, 4)
        scale = self._builder.constant(np.array(self._architecture.head_dim**-0.5, np.float32))
        # onnxruntime folds the scale and this transposition into the product.
        scores = add("Mul", add("MatMul", query, add("Transpose", key, perm=[0, 1, 3, 2])), scale)
        mixed = add("MatMul", add("Softmax", scores, axis=-1), value)
        attended: str = add("Transpose", mixed, perm=[0, 2, 1, 3])
        return attended

    def _activation(self, x: str) -> str:
        add, activation = self._builder.add, self._architecture.activation
        result: str
        if activation == "quick_gelu":
            slope = self._builder.constant(np.array(1.702, np.float32))
            result = add("Mul", x, add("Sigmoid", add("Mul", x, slope)))
        else:
            result = add("Gelu", x, approximate="tanh" if activation == "gelu_tanh" else "none")
        return result

    def _linear(self, x: str, name: str, precision: Precision) -> str:
        bias = self._tensors[f"{name}.bias"] if self._architecture.proj_bias else None
        return linear(self._builder, x, name, self._tensors[f"{name}.weight"], bias, precision)

    def _norm(self, x: str, name: str) -> str:
        weights = [self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]
        eps = self._architecture.eps
        normed: str = self._builder.add("LayerNormalization", x, *weights, axis=-1, epsilon=eps)
        return normed

    def _scaled(self, x: str, gamma: str) -> str:
        if not self._architecture.layer_scale:
            return x
        scaled: str = self._builder.add("Mul", x, self._weight(gamma))
        return scaled

    def _weight(self, name: str) -> str:
        return self._builder.weight(name, self._tensors[name])
