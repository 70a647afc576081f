"""What is written by hand is what the onnx package reads, and would have written."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from foro.backbones.graph import onnx_proto


@pytest.mark.parametrize(
    "given", [0, 1, -1, 2**40, -(2**63), 0.5, "tanh", [1, -1, 300], []], ids=lambda given: repr(given)
)
def test_attributes_of_every_kind(given: object) -> None:
    read = onnx.NodeProto.FromString(onnx_proto.node("Op", ["a", "", "ü"], ["b", "c"], {"x": given}))
    assert (read.op_type, list(read.input), list(read.output), read.name) == ("Op", ["a", "", "ü"], ["b", "c"], "b")
    (attribute,) = read.attribute
    found = helper.get_attribute_value(attribute)
    assert (found.decode() if isinstance(found, bytes) else found) == given
    if given != []:
        assert attribute == helper.make_attribute("x", given)


@given(st.sampled_from(["float32", "uint8", "int8", "int64"]), st.lists(st.integers(0, 5), max_size=4), st.integers(0))
def test_tensors_of_every_type_and_shape(kind: str, shape: list[int], seed: int) -> None:
    array = np.random.default_rng(seed).integers(0, 100, shape).astype(kind)
    assert onnx.TensorProto.FromString(onnx_proto.tensor("name", array)) == numpy_helper.from_array(array, "name")
    place = {"location": "file", "offset": "8"}
    outside = onnx.TensorProto.FromString(onnx_proto.tensor("name", array, place))
    assert (list(outside.dims), outside.data_location) == (shape, onnx.TensorProto.EXTERNAL)
    assert {each.key: each.value for each in outside.external_data} == place


def test_a_whole_model_is_valid_and_reads_as_the_package_writes_it() -> None:
    weight = np.eye(3, dtype=np.float32)
    nodes = [onnx_proto.node("MatMul", ["x", "w"], ["y"], {}), onnx_proto.node("Softmax", ["y"], ["z"], {"axis": -1})]
    inputs, outputs = (
        [onnx_proto.value("x", "float32", ("n", 3))],
        [onnx_proto.value("z", "float32", ("n", 3))],
    )
    graph = onnx_proto.graph(nodes, (), inputs, outputs)
    more = onnx_proto.graph((), [onnx_proto.tensor("w", weight)], (), ())
    read = onnx.ModelProto.FromString(onnx_proto.model(graph + more, {"labels": '["ä"]'}))
    onnx.checker.check_model(read, full_check=True)
    expected = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("MatMul", ["x", "w"], ["y"], name="y"),
                helper.make_node("Softmax", ["y"], ["z"], name="z", axis=-1),
            ],
            "foro",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3])],
            [helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, ["n", 3])],
            [numpy_helper.from_array(weight, "w")],
        ),
        producer_name="foro",
        ir_version=onnx_proto.IR_VERSION,
        opset_imports=[helper.make_opsetid("", onnx_proto.OPSET)],
    )
    helper.set_model_props(expected, {"labels": '["ä"]'})
    assert read == expected
