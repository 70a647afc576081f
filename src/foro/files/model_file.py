"""The model file: everything a learner has learned, in one safetensors file that is never a pickle."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import ModelFileError
from foro.types import Arrays
from foro.util.large_arrays import parts
from foro.util.tensors import parse_json, read_tensors, write_tensors

FORMAT = "foro-model"
SCHEMA = 2

INFERENCE_ONLY = "inference_only"
"""In the metadata of a file that has no statistics."""

HEAD = "encoder."
"""What the names of a head's arrays begin with."""

DIGESTS = "digests"
"""In the metadata: the CRC-32 of each tensor. That finds every flipped bit, several times as fast as BLAKE2."""


def write_model(path: str | Path, arrays: Arrays, metadata: dict[str, Any]) -> None:
    """Replaces the file at path, atomically and durably."""
    ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    described = {**metadata, "schema": SCHEMA, DIGESTS: {name: _digest(array) for name, array in ordered.items()}}
    text = json.dumps(described, ensure_ascii=False, allow_nan=False)
    write_tensors(Path(path), ordered, {"format": FORMAT, "foro": text, "digest": str(zlib.crc32(text.encode()))})


def read_model(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and metadata of a model file; an error that says what is wrong with any other file.

    Whether the arrays are what was written is for ``check_digests``: they are only mapped here.
    """
    arrays, header = read_tensors(Path(path))
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a safetensors file, but not a FoRo model")
    try:
        metadata = parse_json(header["foro"])
        schema = int(metadata["schema"])
    except (KeyError, ValueError, TypeError):
        raise ModelFileError(f"{path} has no readable description of its model") from None
    if schema > SCHEMA:
        raise ModelFileError(
            f"{path} was written by a newer FoRo (schema {schema}, this one reads up to {SCHEMA}): upgrade foro"
        )
    if schema < SCHEMA:
        raise ModelFileError(f"{path} was written by FoRo 0.1, whose features this one does not make: teach it again")
    if header.get("digest") != str(zlib.crc32(header["foro"].encode())):
        raise ModelFileError(f"{path} is damaged: its description is not what was written")
    return arrays, metadata


def check_digests(
    path: str | Path, arrays: Arrays, metadata: dict[str, Any], names: Iterable[str] | None = None
) -> None:
    """Refuses arrays that are not what was written, or that have a NaN: all of them, or those of the names."""
    digests = metadata.get(DIGESTS)
    for name in arrays if names is None else names:
        array = arrays[name]
        if not isinstance(digests, dict) or digests.get(name) != _digest(array):
            raise ModelFileError(f"{path} is damaged: {name} is not what was written; use a copy of the file")
        if array.dtype.kind == "f" and not all(np.isfinite(part).all() for (part,) in parts(array)):
            raise ModelFileError(f"{path} cannot be used: {name} has a NaN or infinity")


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """What goes wrong within is said of the file at path, in one sentence."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"{path} is not a model of one piece: {error}") from None
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be used: {error}") from None


def head_arrays(arrays: Arrays) -> Arrays:
    """The arrays of a model's head, by the names that the head gave them."""
    return {name[len(HEAD) :]: array for name, array in arrays.items() if name.startswith(HEAD)}


def check_width(encoder: dict[str, Any], features: int) -> None:
    """Refuses a head for features of another width than the backbone's, before anything of that size is made."""
    if encoder["features"] != features:
        raise ValueError(f"its head is for {encoder['features']} features, and its backbone makes {features}")


def _digest(array: NDArray[Any]) -> int:
    """CRC-32 of the type, the shape and the bytes of a contiguous array."""
    digest = zlib.crc32(f"{array.dtype.str}{array.shape}".encode())
    for (part,) in parts(array):
        digest = zlib.crc32(part.data.cast("B"), digest)
    return digest
