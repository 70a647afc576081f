"""One ONNX graph of everything between an image and its probabilities: backbone, prompt, projection, classifier."""

from __future__ import annotations

import numpy as np

from foro.backbones import Checkpoint, Preprocessing
from foro.backbones.graph.builder import Graph, GraphBuilder
from foro.backbones.graph.vit import Transformer
from foro.features.readout import EPSILON, Readout
from foro.snapshot import Snapshot

_ACTIVATIONS = {"relu": "Relu", "gelu": "Gelu", "tanh": "Tanh"}
_FLOAT = 1  # ONNX's number of float32


def build_model_graph(snapshot: Snapshot, checkpoint: Checkpoint) -> Graph:
    """Graph from ``image`` (n, S, S, 3), RGB bytes, to ``scores`` (n, c) and ``probabilities`` (n, c).

    Mean and deviation are inside: whoever runs it has only to resize and crop.
    """
    builder = GraphBuilder()
    preprocessing = snapshot.extractor.backbone.preprocessing
    size, classes = preprocessing.image_size, len(snapshot.labels)
    transformer = Transformer(builder, checkpoint)
    tokens = transformer.embed(_normalised(builder, "image", preprocessing), size)
    prompt, first_patch = snapshot.candidate.prompt, checkpoint.architecture.prefix_tokens
    if prompt is not None:
        tokens = transformer.insert_prompts(tokens, builder.weight("prompt", prompt[None]))
        first_patch += len(prompt)
    read = transformer.encode(tokens, builder.integers(first_patch))
    h = _projected(builder, _readout(builder, read, snapshot.readout), snapshot)
    weights = np.ascontiguousarray(snapshot.weights, dtype=np.float32)
    scores = builder.add("MatMul", h, builder.weight("classifier", weights))
    sharpness = builder.constant(np.array(snapshot.sharpness, np.float32))
    likely = builder.add("Softmax", builder.add("Mul", scores, sharpness), axis=-1)
    return builder.close(
        {"image": ("uint8", ("n", size, size, 3))},
        {"scores": (scores, ("n", classes)), "probabilities": (likely, ("n", classes))},
    )


def _normalised(builder: GraphBuilder, image: str, preprocessing: Preprocessing) -> str:
    """Pixels (n, 3, S, S) of bytes (n, S, S, 3), by the same two operations as ``Preprocessing.normalise``."""
    add = builder.add
    mean, std = (np.array(each, np.float32)[:, None, None] for each in (preprocessing.mean, preprocessing.std))
    pixels = add("Transpose", add("Cast", image, to=_FLOAT), perm=[0, 3, 1, 2])
    scaled = add("Mul", pixels, builder.constant(1 / (255 * std)))
    shifted: str = add("Sub", scaled, builder.constant(mean / std))
    return shifted


def _readout(builder: GraphBuilder, read: list[str], readout: Readout) -> list[str]:
    """The tokens (n, dim) of a feature vector, as ``Readout`` makes them."""
    if readout.raw:
        return [read[readout.tokens[0].outputs[0]]]
    return [_token(builder, [read[each] for each in token.outputs], token.centred) for token in readout.tokens]


def _token(builder: GraphBuilder, parts: list[str], centred: bool) -> str:
    normalised = [_normalised_token(builder, each, centred) for each in parts]
    if len(normalised) == 1:
        return normalised[0]
    return _normalised_token(builder, builder.add("Sum", *normalised), centred=False)


def _normalised_token(builder: GraphBuilder, token: str, centred: bool) -> str:
    add, last = builder.add, builder.integers(-1)
    token = add("Sub", token, add("ReduceMean", token, last)) if centred else token
    deviation = add("Sqrt", add("ReduceMean", add("Mul", token, token), last))
    return str(add("Div", token, add("Add", deviation, builder.constant(np.array(EPSILON, np.float32)))))


def _projected(builder: GraphBuilder, tokens: list[str], snapshot: Snapshot) -> str:
    """What the classifier sees, (n, M)."""
    add, projection = builder.add, snapshot.projection
    together = tokens[0] if len(tokens) == 1 else add("Concat", *tokens, axis=-1)
    if projection is None:
        return str(together)
    parts = tokens if projection.parts > 1 else [together]
    blocks, start = [], 0
    for number, (part, columns, scale) in enumerate(projection.blocks):
        matrix = np.ascontiguousarray(projection.matrix[:, start : start + columns])
        h = add("MatMul", parts[part], builder.weight(f"projection.{number}", matrix))
        h = add(_ACTIVATIONS[projection.activation], h)
        blocks.append(h if scale == 1.0 else add("Mul", h, builder.constant(np.array(scale, np.float32))))
        start += columns
    return str(blocks[0] if len(blocks) == 1 else add("Concat", *blocks, axis=-1))
