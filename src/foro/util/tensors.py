"""Safetensors files, read and written in place.

By hand because the library copies every tensor: here a tensor that is read is a view of the mapped file, so that what
is not used is never loaded, and one that is written goes straight from memory to a durable file.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import FoRoError, ModelFileError
from foro.types import Arrays
from foro.util.atomic_files import write_whole
from foro.util.large_arrays import parts

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?", "BF16": "<u2"}
_MAGIC = {
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"PK\x03\x04": "a ZIP archive, as PyTorch's weights are",
    b"\x80": "a pickle, which could run any code",
    b"foro journal": "the journal of a model, which belongs beside its model file",
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items() if name != "BF16"}


def read_tensors(path: Path, error: type[FoRoError] = ModelFileError) -> tuple[Arrays, dict[str, str]]:
    """The tensors of a file, and its metadata.

    The arrays may be written to, but that changes memory only, never the file. Bfloat16 comes as float32.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise error(f"{path} cannot be read: it is {'a folder' if path.is_dir() else 'not a regular file'}")
        if not os.path.getsize(path):
            raise error(f"{path} is empty: nothing was ever written to it, or it was cut off")
        data = np.memmap(path, dtype=np.uint8, mode="c")
    except FileNotFoundError:
        raise error(f"there is no file {path}") from None
    except (OSError, ValueError) as reason:
        raise error(f"{path} cannot be read: {reason}") from None
    try:
        length = int.from_bytes(data[:8].tobytes(), "little")
        if len(data) < 8 or length > len(data) - 8:
            raise ValueError("the header is longer than the file")
        header = parse_json(data[8 : 8 + length].tobytes())
        metadata = header.pop("__metadata__", {})
        body = data[8 + length :]
        _check_spans([entry["data_offsets"] for entry in header.values()], len(body))
        arrays = {name: _tensor(body, name, entry) for name, entry in header.items()}
        if not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("its metadata are no text")
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as reason:
        if nature := _nature(data[:512].tobytes()):
            raise error(f"{path} is {nature}, not a safetensors file as models and weights are") from None
        raise error(
            f"{path} is not a safetensors file, or is truncated or damaged ({reason}): use a copy of it"
        ) from None
    return arrays, metadata


def parse_json(text: str | bytes) -> Any:
    """What JSON says; NaN and brackets without end are a ValueError like any other mistake."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def _check_spans(spans: list[tuple[int, int]], size: int) -> None:
    """Tensors lie one after another, and fill the file."""
    end = 0
    for begin, following in sorted(spans):
        if begin != end:
            raise ValueError("two tensors overlap" if begin < end else "there is a gap between two tensors")
        end = following
    if end != size:
        raise ValueError(f"its tensors end after {end} bytes, not after {size}")


def _nature(start: bytes) -> str | None:
    """What a file with these first bytes is, if that is no safetensors file."""
    if start[8:9] == b"{":
        return None
    if start[:1] == b"\x08" and start[2:3] in (b"\x12", b"\x3a"):
        return "an ONNX graph, for any ONNX runtime to predict with"
    for magic, nature in _MAGIC.items():
        if start.startswith(magic):
            return nature
    return "text" if all(byte > 31 or byte in b"\t\r\n" for byte in start) else None


def _tensor(body: NDArray[np.uint8], name: str, entry: dict[str, Any]) -> NDArray[Any]:
    if entry["dtype"] not in _DTYPES:
        raise ValueError(f"tensor {name} has the type {entry['dtype']}")
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(body) or end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"tensor {name} does not fit into the file")
    raw = body[begin:end].view(np.ndarray)
    if begin % dtype.itemsize:
        raw = raw.copy()  # runtimes read aligned memory only
    array: NDArray[Any] = raw.view(dtype).reshape(shape)
    if entry["dtype"] == "BF16":  # the upper half of a float32
        array = (array.astype("<u4") << np.uint32(16)).view("<f4")
    return array


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    """Writes a file that is there whole or not at all."""
    header: dict[str, Any] = {"__metadata__": metadata}
    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays, key=lambda n: -arrays[n].itemsize)}
    position = 0
    for name, array in ordered.items():
        span = [position, position + array.nbytes]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": span}
        position = span[1]
    encoded = json.dumps(header, ensure_ascii=False).encode()
    encoded += b" " * (-len(encoded) % 8)
    pieces = (part.data.cast("B") for array in ordered.values() for (part,) in parts(array))
    write_whole(path, chain([len(encoded).to_bytes(8, "little") + encoded], pieces))
