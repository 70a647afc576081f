"""An ONNX file with its weights inside; beside it where they are more than a protobuf may hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from foro.backbones.graph import onnx_proto
from foro.backbones.graph.builder import Graph
from foro.util.atomic_files import write_whole

LARGEST_INSIDE = 1_900_000_000
"""Bytes of weights: a protobuf ends at 2 GB."""


def write_onnx(
    path: Path, graph: Graph, metadata: Mapping[str, str], largest_inside: int = LARGEST_INSIDE
) -> list[Path]:
    """Writes the graph, whole or not at all; returns the files that it consists of."""
    weights = {name: np.ascontiguousarray(array) for name, array in graph.weights.items()}
    if sum(array.nbytes for array in weights.values()) <= largest_inside:
        _write(path, graph, [onnx_proto.tensor(name, array) for name, array in weights.items()], metadata)
        return [path]
    data = path.with_name(f"{path.name}.data")
    write_whole(data, (array.data.cast("B") for array in weights.values()))  # first: without it there is no model
    tensors, position = [], 0
    for name, array in weights.items():
        place = {"location": data.name, "offset": str(position), "length": str(array.nbytes)}
        tensors.append(onnx_proto.tensor(name, array, place))
        position += array.nbytes
    _write(path, graph, tensors, metadata)
    return [path, data]


def _write(path: Path, graph: Graph, tensors: list[bytes], metadata: Mapping[str, str]) -> None:
    write_whole(path, [onnx_proto.model(graph.content + onnx_proto.graph((), tensors, (), ()), metadata)])
