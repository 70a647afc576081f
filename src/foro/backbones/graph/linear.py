"""Matrix products of a graph, in float32 or with int8 weights."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from foro.backbones.graph.builder import GraphBuilder

Precision = Literal["float32", "int8"]

# Seven bits: with eight, the AVX2 kernels that add pairs of products in 16 bits saturate, and the result
# would depend on the processor.
_INT8_MAX = 63


def linear(
    builder: GraphBuilder,
    x: str,
    name: str,
    weight: NDArray[np.float32],
    bias: NDArray[np.float32] | None,
    precision: Precision,
) -> str:
    """x Wᵀ + b of a matrix (rows, in), weight (out, in) and bias (out,): (rows, out)."""
    output: str
    if precision == "int8":
        output = _integer_product(builder, x, name, weight)
        return builder.add("Add", output, builder.weight(f"{name}.bias", bias)) if bias is not None else output
    inputs = [x, builder.weight(f"{name}.weight", weight)]
    if bias is not None:
        inputs.append(builder.weight(f"{name}.bias", bias))
    output = builder.add("Gemm", *inputs, transB=1)
    return output


def _integer_product(builder: GraphBuilder, x: str, name: str, weight: NDArray[np.float32]) -> str:
    """x is quantised as it comes, by its own range; every row of the weight by its largest value."""
    largest = np.abs(weight).max(axis=1)
    scale = np.where(largest > 0, largest / _INT8_MAX, 1).astype(np.float32)
    quantised = np.ascontiguousarray(np.rint(weight / scale[:, None]).astype(np.int8).T)
    values, x_scale, zero = builder.add("DynamicQuantizeLinear", x, outputs=3)
    product = builder.add("MatMulInteger", values, builder.weight(f"{name}.int8", quantised), zero)
    rescale = builder.add("Mul", x_scale, builder.weight(f"{name}.scale", scale))
    output: str = builder.add("Mul", builder.add("Cast", product, to=1), rescale)
    return output
