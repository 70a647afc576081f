"""One ONNX graph of everything between an image and its probabilities: backbone, prompt, projection, classifier."""

from __future__ import annotations

import numpy as np

from foro.backbones import Checkpoint, Preprocessing
from foro.backbones.graph.builder import Graph, GraphBuilder
from foro.backbones.graph.vit import Transformer
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
    if snapshot.prompt is not None:
        tokens = transformer.insert_prompts(tokens, builder.weight("prompt", snapshot.prompt[None]))
    h = _readout(builder, transformer.encode(tokens), snapshot.readout_layers)
    if snapshot.projection is not None:
        h = builder.add("MatMul", h, builder.weight("projection", np.ascontiguousarray(snapshot.projection.matrix)))
        h = builder.add(_ACTIVATIONS[snapshot.projection.activation], h)
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


def _readout(builder: GraphBuilder, layers: list[str], readout_layers: int) -> str:
    """Features (n, k · dim), as ``foro.features.readout`` makes them of CLS tokens."""
    if readout_layers == 1:
        return layers[-1]
    add, last = builder.add, builder.integers(-1)
    parts = []
    for layer in layers[-readout_layers:]:
        centred = add("Sub", layer, add("ReduceMean", layer, last))
        deviation = add("Sqrt", add("ReduceMean", add("Mul", centred, centred), last))
        parts.append(add("Div", centred, add("Add", deviation, builder.constant(np.array(1e-6, np.float32)))))
    features: str = add("Concat", *parts, axis=-1)
    return features
