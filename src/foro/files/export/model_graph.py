"""One ONNX graph of everything between an image and its probabilities: backbone, prompt, projection, classifier."""

from __future__ import annotations

import numpy as np

from foro.backbones import Checkpoint, Preprocessing
from foro.backbones.graph.builder import Graph, GraphBuilder
from foro.backbones.graph.vit import Transformer
from foro.features.readout import EPSILON, Readout
from foro.heads.familiarity import LEAST, Familiarity
from foro.snapshot import Snapshot

_ACTIVATIONS = {"relu": "Relu", "gelu": "Gelu", "tanh": "Tanh"}
_FLOAT = 1  # ONNX's number of float32


def build_model_graph(snapshot: Snapshot, checkpoint: Checkpoint) -> Graph:
    """Graph from ``image`` (n, S, S, 3), RGB bytes, to ``scores`` (n, c), ``probabilities`` (n, c), ``unknown`` (n,).

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
    tokens_read = _readout(builder, read, snapshot.readout)
    h = _projected(builder, tokens_read, snapshot)
    weights = np.ascontiguousarray(snapshot.weights, dtype=np.float32)
    scores = builder.add("MatMul", h, builder.weight("classifier", weights))
    sharpness = builder.constant(np.array(snapshot.sharpness, np.float32))
    likely = builder.add("Softmax", builder.add("Mul", scores, sharpness), axis=-1)
    outputs: dict[str, tuple[str, tuple[int | str, ...]]] = {
        "scores": (scores, ("n", classes)),
        "probabilities": (likely, ("n", classes)),
    }
    if snapshot.familiar is not None:
        outputs["unknown"] = _unknown(builder, tokens_read, scores, snapshot.familiar), ("n",)
    return builder.close({"image": ("uint8", ("n", size, size, 3))}, outputs)


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


def _unknown(builder: GraphBuilder, tokens: list[str], scores: str, familiar: Familiarity) -> str:
    """The chance (n,) that an image is of none of the classes, as ``Familiarity`` has it."""
    add, last, how = builder.add, builder.integers(-1), familiar.coefficients

    def number(value: float) -> str:
        return builder.constant(np.array(value, np.float32))

    together = tokens[0] if len(tokens) == 1 else add("Concat", *tokens, axis=-1)
    count, width = familiar.centre.shape
    nearest, terms = builder.constant(familiar.offsets), []
    for token in range(count):
        start = familiar.first + token * width
        part = add("Slice", together, builder.integers(start), builder.integers(start + width), last)
        y = add("Sub", part, builder.constant(familiar.centre[token]))
        seen = add("MatMul", y, builder.weight(f"unknown.quadratic.{token}", familiar.quadratic[token]))
        terms.append(add("ReduceSum", add("Mul", seen, y), last, keepdims=0))
        linear = np.ascontiguousarray(familiar.linear[token])
        nearest = add("Add", nearest, add("MatMul", y, builder.weight(f"unknown.linear.{token}", linear)))
    quadratic = terms[0] if count == 1 else add("Sum", *terms)
    distance = add("Sub", quadratic, add("ReduceMax", nearest, last, keepdims=0))
    distance = add("Mul", distance, number(1 / width))
    if familiar.logarithmic:
        distance = add("Log", add("Max", distance, number(LEAST)))
    by_score = add("Mul", add("ReduceMax", scores, last, keepdims=0), number(how.score))
    by_distance = add("Mul", distance, number(how.distance))
    return str(add("Sigmoid", add("Add", add("Add", by_score, by_distance), number(how.constant))))
