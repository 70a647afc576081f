"""A thin layer over ONNX: name nodes, collect constants, keep large weights out of the protobuf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Opset 20 is the first with Gelu; every onnxruntime that FoRo accepts runs it.
OPSET = 20
IR_VERSION = 9

Array = NDArray[Any]


@dataclass(frozen=True)
class Graph:
    """A serialised ONNX model and the weights it refers to by name.

    Weights stay NumPy arrays and are handed to the runtime as they are, so that neither protobuf's limit of
    2 GB nor a second copy of a large model stands in the way.
    """

    model: bytes
    weights: Mapping[str, Array]


class GraphBuilder:
    """Collects nodes; every method that adds one returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Array] = {}
        self._weights: dict[str, Array] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add one node; returns a name, or a list of names where there are several outputs."""
        from onnx import helper

        name = f"{operator}_{len(self._nodes)}"
        results = [name] if outputs == 1 else [f"{name}_{index}" for index in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, results, name=name, **attributes))
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
        from onnx import TensorProto, helper, numpy_helper

        self._nodes.append(helper.make_node("Identity", [output], [output_name], name="output"))
        initializers = [numpy_helper.from_array(value, name) for name, value in self._constants.items()]
        for name, value in self._weights.items():
            tensor = TensorProto(name=name, dims=value.shape, data_location=TensorProto.EXTERNAL)
            tensor.data_type = helper.np_dtype_to_tensor_dtype(value.dtype)
            # Never opened: the runtime is given the array under this name instead.
            tensor.external_data.add(key="location", value="weights")
            initializers.append(tensor)
        graph = helper.make_graph(
            self._nodes,
            "foro",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(output_name, TensorProto.FLOAT, output_shape)],
            initializers,
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        return Graph(model.SerializeToString(), dict(self._weights))
