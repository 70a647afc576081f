"""Models for predicting: read fast from any model file, and written to a small one that cannot learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from foro.backbones import Backbone
from foro.backbones.source import describe_backbone, taught_backbone
from foro.errors import InputError, ModelFileError
from foro.features.extractor import Extractor
from foro.files import INFERENCE_ONLY, read_model, write_model
from foro.heads.projection import RandomProjection
from foro.snapshot import Snapshot
from foro.types import Arrays


def read_snapshot(path: str | Path, backbone: str | Path | Backbone | None = None) -> Snapshot:
    """A model file of either kind, for predicting: reads no statistics and imports no solver, so it starts at once."""
    arrays, metadata = read_model(path)
    try:
        encoder = metadata["encoder"]
        labels, activation = tuple(encoder["labels"]), encoder["activation"]
        if not labels:
            raise InputError(f"{path} has not learned anything yet")
        weights = arrays["encoder.weights"].T.astype(np.float64, copy=False)
        projection = RandomProjection(arrays["encoder.projection"], activation) if activation else None
        width = projection.matrix.shape[1] if projection else encoder["features"]
        if weights.shape != (width, len(labels)):
            raise ModelFileError(f"{path} is not a model of one piece: its weights have the shape {weights.shape}")
        sharpness = encoder["sharpness"]
        source, found = taught_backbone(path, metadata["backbone"], backbone)
        readout_layers = metadata["config"]["readout_layers"]
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
    prompt = arrays.get("prompt")
    return Snapshot(labels, weights, sharpness, prompt, projection, readout_layers, Extractor(found), source)


def write_inference(snapshot: Snapshot, path: str | Path) -> None:
    """Writes what predicting needs, in single precision: a fraction of a model file, but it cannot learn."""
    projection = snapshot.projection
    arrays: Arrays = {"encoder.weights": snapshot.weights.T.astype(np.float32)}
    if projection is not None:
        arrays["encoder.projection"] = projection.matrix
    if snapshot.prompt is not None:
        arrays["prompt"] = snapshot.prompt
    metadata: dict[str, Any] = {
        INFERENCE_ONLY: True,
        "backbone": describe_backbone(snapshot.extractor.backbone, snapshot.source),
        "config": {"readout_layers": snapshot.readout_layers},
        "encoder": {
            "labels": list(snapshot.labels),
            "features": len(projection.matrix) if projection else len(snapshot.weights),
            "activation": projection.activation if projection else None,
            "sharpness": snapshot.sharpness,
        },
    }
    write_model(path, arrays, metadata)
