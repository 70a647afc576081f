"""The model file: everything a learner has learned, in one safetensors file that is never a pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foro.errors import ModelFileError
from foro.types import Arrays
from foro.util.tensors import read_tensors, write_tensors

FORMAT = "foro-model"
SCHEMA = 1

INFERENCE_ONLY = "inference_only"
"""In the metadata of a file that has no statistics."""


def write_model(path: str | Path, arrays: Arrays, metadata: dict[str, Any]) -> None:
    """Replaces the file at path, atomically and durably."""
    text = json.dumps({"schema": SCHEMA, **metadata}, ensure_ascii=False)
    write_tensors(Path(path), arrays, {"format": FORMAT, "foro": text})


def read_model(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and metadata of a model file; an error that says what is wrong with any other file."""
    arrays, header = read_tensors(Path(path))
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a safetensors file, but not a FoRo model")
    try:
        metadata = json.loads(header["foro"])
        schema = int(metadata["schema"])
    except (KeyError, ValueError, TypeError):
        raise ModelFileError(f"{path} has no readable description of its model") from None
    if schema < 1:
        raise ModelFileError(f"{path} has the schema {schema}, which no FoRo has written")
    if schema > SCHEMA:
        raise ModelFileError(
            f"{path} was written by a newer FoRo (schema {schema}, this one reads up to {SCHEMA}): upgrade foro"
        )
    return arrays, metadata
