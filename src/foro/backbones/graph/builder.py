"""A thin layer over ONNX: name nodes, collect constants, keep large weights out of the protobuf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones.graph import onnx_proto

Array = NDArray[Any]


@dataclass(frozen=True)
class Graph:
    """A serialised ONNX graph without its weights, and these by name.

    Weights stay NumPy arrays that the runtime takes as they are: protobuf's limit of 2 GB does not apply, and a large
    model is not copied.
    """

    content: bytes
    weights: Mapping[str, Array]

    @property
    def model(self) -> bytes:
        """The model for a runtime that gets the weights by name; the file that it mentions does not exist."""
        tensors = [onnx_proto.tensor(name, each, {"location": "weights"}) for name, each in self.weights.items()]
        return onnx_proto.model(self.content + onnx_proto.graph((), tensors, (), ()), {})


class GraphBuilder:
    """Collects nodes; every method that adds one returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: dict[str, Array] = {}
        self._weights: dict[str, Array] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add one node; returns a name, or a list of names where there are several outputs."""
        name = f"{operator}_{len(self._nodes)}"
        results = [name] if outputs == 1 else [f"{name}_{index}" for index in range(outputs)]
        self._nodes.append(onnx_proto.node(operator, inputs, results, attributes))
        return name if outputs == 1 else results

    def integers(self, *values: int) -> str:
        """A constant vector of int64, such as a shape or a list of axes."""
        return self.constant(np.array(values, np.int64))

    def constant(self, value: Array) -> str:
        """A small constant; equal ones are stored once."""
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._names:
            self._names[key] = f"constant_{len(self._names)}"
            self._constants[self._names[key]] = value
        return self._names[key]

    def weight(self, name: str, value: Array) -> str:
        """A named tensor of the checkpoint, kept outside the protobuf."""
        self._weights[name] = value
        return name

    def finish(
        self,
        inputs: Mapping[str, Sequence[int | str]],
        output: str,
        output_shape: Sequence[int | str],
        output_name: str,
    ) -> Graph:
        """Close the graph: float32 inputs by name and shape, and one float32 output."""
        return self.close(
            {name: ("float32", shape) for name, shape in inputs.items()}, {output_name: (output, output_shape)}
        )

    def close(
        self,
        inputs: Mapping[str, tuple[str, Sequence[int | str]]],
        outputs: Mapping[str, tuple[str, Sequence[int | str]]],
    ) -> Graph:
        """Close the graph: inputs by name with type and shape, and float32 outputs by name with tensor and shape."""
        for name, (tensor, _) in outputs.items():
            self._nodes.append(onnx_proto.node("Identity", [tensor], [name], {}))
        constants = [onnx_proto.tensor(name, each) for name, each in self._constants.items()]
        given = [onnx_proto.value(name, kind, shape) for name, (kind, shape) in inputs.items()]
        found = [onnx_proto.value(name, "float32", shape) for name, (_, shape) in outputs.items()]
        return Graph(onnx_proto.graph(self._nodes, constants, given, found), dict(self._weights))
