"""ONNX's file format, as far as FoRo writes it: protobuf messages as bytes.

By hand because the onnx package takes longer to import than a backbone to build, and is needed for nothing else.
Numbers of fields and types are those of onnx.proto; the tests read what is written here with the onnx package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Opset 20 is the first with Gelu; every onnxruntime that FoRo accepts runs it.
OPSET = 20
IR_VERSION = 9

_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7  # kinds of attributes
_OUTSIDE = 1  # where a tensor's data is


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Any]) -> bytes:
    """One operation, named after its first output."""
    parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
    parts += [_text(3, outputs[0]), _text(4, operator)]
    parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
    return b"".join(parts)


def tensor(name: str, array: NDArray[Any], outside: Mapping[str, str] | None = None) -> bytes:
    """An array under a name; with ``outside``, only where its data is: a location, an offset and a length."""
    parts = [_integer(1, size) for size in array.shape]
    parts += [_integer(2, _TYPES[array.dtype.name]), _text(8, name)]
    if outside is None:
        parts.append(_bytes(9, np.ascontiguousarray(array).tobytes()))
    else:
        parts += [_bytes(13, _text(1, key) + _text(2, value)) for key, value in outside.items()]
        parts.append(_integer(14, _OUTSIDE))
    return b"".join(parts)


def value(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    """What goes in or comes out; a length that is not fixed has a name."""
    lengths = [_integer(1, each) if isinstance(each, int) else _text(2, each) for each in shape]
    described = _integer(1, _TYPES[kind]) + _bytes(2, b"".join(_bytes(1, each) for each in lengths))
    return _text(1, name) + _bytes(2, _bytes(1, described))


def graph(nodes: Iterable[bytes], tensors: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]) -> bytes:
    """A graph, or a part of one: parts that follow each other are one graph."""
    parts = ((1, nodes), (5, tensors), (11, inputs), (12, outputs))
    return b"".join(_bytes(number, each) for number, several in parts for each in several)


def model(content: bytes, metadata: Mapping[str, str]) -> bytes:
    """A whole file of a graph and of texts that belong to it."""
    parts = [_integer(1, IR_VERSION), _text(2, "foro"), _bytes(7, content + _text(2, "foro"))]
    parts.append(_bytes(8, _text(1, "") + _integer(2, OPSET)))
    parts += [_bytes(14, _text(1, key) + _text(2, text)) for key, text in metadata.items()]
    return b"".join(parts)


def _attribute(name: str, given: Any) -> bytes:
    if isinstance(given, int):
        kind, content = _INT, _integer(3, given)
    elif isinstance(given, float):
        kind, content = _FLOAT, _varint(2 << 3 | 5) + struct.pack("<f", given)
    elif isinstance(given, str):
        kind, content = _STRING, _text(4, given)
    else:
        kind, content = _INTS, b"".join(_integer(8, each) for each in given)
    return _text(1, name) + content + _integer(20, kind)


def _integer(number: int, given: int) -> bytes:
    return _varint(number << 3) + _varint(given % 2**64)


def _text(number: int, given: str) -> bytes:
    return _bytes(number, given.encode())


def _bytes(number: int, given: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(given)) + given


def _varint(given: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while given > 127:
        found.append(given & 127 | 128)
        given >>= 7
    found.append(given)
    return bytes(found)
