"""What the graphs are made of, and that their pieces compose."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from foro.backbones.graph.builder import Graph, GraphBuilder
from foro.backbones.graph.linear import Precision
from foro.backbones.graph.vit import Transformer, build_embed_graph, build_forward_graph
from foro.backbones.runtimes.onnx_runtime import start_session
from tests.backbones import reference


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_operators_are_standard_and_weights_outside(precision: Precision) -> None:
    checkpoint = reference.tiny_checkpoint()
    forward = [build_forward_graph(checkpoint, precision, gains=gains) for gains in (False, True)]
    for graph in (build_embed_graph(checkpoint, 32), *forward):
        model = onnx.load_from_string(graph.model)
        assert {node.domain for node in model.graph.node} == {""}
        inside = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
        assert inside < 1000 < sum(array.nbytes for array in graph.weights.values())


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_the_runtime_keeps_weights_of_its_own(precision: Precision) -> None:
    # The checkpoint may be a mapped file that is gone a moment later.
    checkpoint = reference.tiny_checkpoint()
    built = build_forward_graph(checkpoint, precision)
    graph = Graph(built.content, {name: array.copy() for name, array in built.weights.items()})
    session = start_session(graph)
    rng = np.random.default_rng(0)
    inputs = {"tokens": rng.standard_normal((2, 17, 32)), "prompts": rng.standard_normal((1, 2, 32))}
    feed = {name: array.astype(np.float32) for name, array in inputs.items()}
    (before,) = session.run(None, feed)
    for array in graph.weights.values():
        array[...] = 7
    (after,) = session.run(None, feed)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("gains", [False, True])
def test_the_short_last_block_changes_nothing(gains: bool) -> None:
    checkpoint = reference.tiny_checkpoint()
    rng = np.random.default_rng(0)
    inputs = {"tokens": rng.standard_normal((3, 17, 32)), "prompts": rng.standard_normal((2, 2, 32))}
    if gains:
        inputs["gains"] = 0.3 * rng.standard_normal((2, 3, 3))
    feed = {name: array.astype(np.float32) for name, array in inputs.items()}
    (short,), (plain,) = (
        start_session(build_forward_graph(checkpoint, plain=plain, gains=gains)).run(None, feed)
        for plain in (False, True)
    )
    np.testing.assert_allclose(short, plain, atol=1e-5 * np.abs(plain).max())


def test_one_graph_from_pixels_to_what_is_read_with_a_fixed_prompt() -> None:
    checkpoint = reference.tiny_checkpoint()
    rng = np.random.default_rng(0)
    prompt = rng.standard_normal((1, 3, 32)).astype(np.float32)
    pixels = rng.standard_normal((2, 3, 32, 32)).astype(np.float32)
    builder = GraphBuilder()
    transformer = Transformer(builder, checkpoint)
    tokens = transformer.embed("pixels", 32)
    sequences = transformer.insert_prompts(tokens, builder.weight("prompt", prompt))
    read = transformer.encode(sequences, builder.integers(1 + 3))
    assert len(read) == checkpoint.architecture.outputs == 4
    both = builder.add("Concat", read[2], read[3], axis=-1)
    graph = builder.finish({"pixels": ("n", 3, 32, 32)}, both, ("n", 64), "read")
    (found,) = start_session(graph).run(None, {"pixels": pixels})
    expected = reference.forward(checkpoint, reference.embed(checkpoint, pixels), prompt)[0]
    for part, output in ((found[:, :32], expected[:, 2]), (found[:, 32:], expected[:, 3])):
        np.testing.assert_allclose(part, output, atol=2e-5 * np.abs(output).max())
