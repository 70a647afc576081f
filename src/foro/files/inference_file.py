"""Models for predicting: read fast from any model file, and written to a small one that cannot learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from foro.backbones import Backbone
from foro.backbones.source import describe_backbone, taught_backbone
from foro.errors import InputError
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.files import INFERENCE_ONLY, check_digests, explained, read_model, write_model
from foro.files.model_file import check_width
from foro.heads.familiarity import Familiarity
from foro.heads.projection import RandomProjection, primal_weights
from foro.labels import check_names
from foro.snapshot import Snapshot
from foro.types import Arrays

_FAMILIAR = "encoder.familiarity."
_CLASSIFIER = ("encoder.weights", "encoder.dual", "encoder.tail_features", "encoder.projection", "prompt", "gains")
"""Arrays that predicting needs, of those that there are; and those of what is familiar."""


def read_snapshot(path: str | Path, backbone: str | Path | Backbone | None = None) -> Snapshot:
    """A model file of either kind, for predicting: reads no statistics and imports no solver, so it starts at once."""
    arrays, metadata = read_model(path)
    check_digests(
        path, arrays, metadata, [name for name in arrays if name in _CLASSIFIER or name.startswith(_FAMILIAR)]
    )
    with explained(path):
        encoder, taught, reading = metadata["encoder"], metadata["backbone"], metadata["config"]["readout"]
        check_names(encoder["labels"], [])
        labels, sharpness = tuple(encoder["labels"]), float(encoder["sharpness"] or 0)
    if not labels:
        raise InputError(f"{path} has not learned anything yet")
    source, found = taught_backbone(path, taught, backbone)
    with explained(path):
        readout = Readout.of(reading, found)
        check_width(encoder, readout.features)
        projection = None
        if encoder["projection"] is not None:
            projection = RandomProjection.from_state(
                arrays.get("encoder.projection"), encoder["projection"], readout.features
            )
        if "encoder.weights" in arrays:
            weights = arrays["encoder.weights"].T.astype(np.float64, copy=False)
        else:
            weights = primal_weights(projection, arrays["encoder.tail_features"], arrays["encoder.dual"])
        width = projection.matrix.shape[1] if projection else readout.features
        if weights.shape != (width, len(labels)):
            raise ValueError(f"its weights have the shape {weights.shape}")
        familiar = None
        if encoder.get("familiarity") is not None:
            parts = {name.removeprefix(_FAMILIAR): each for name, each in arrays.items() if name.startswith(_FAMILIAR)}
            familiar = Familiarity.from_state(parts, encoder["familiarity"])
            if len(familiar.offsets) != len(labels):
                raise ValueError("not every label is known to be familiar")
    candidate = Candidate.from_arrays(arrays)
    return Snapshot(labels, weights, sharpness, candidate, projection, readout, Extractor(found), source, familiar)


def write_inference(snapshot: Snapshot, path: str | Path, portable: bool = False) -> None:
    """Writes what predicting needs, in single precision: a fraction of a model file, but it cannot learn.

    ``portable`` writes the matrix of the projection, not only its seed.
    """
    arrays: Arrays = {"encoder.weights": snapshot.weights.T.astype(np.float32), **snapshot.candidate.arrays()}
    projection = telling = None
    if snapshot.projection is not None:
        matrix, projection = snapshot.projection.state(portable)
        arrays |= {f"encoder.{name}": array for name, array in matrix.items()}
    if snapshot.familiar is not None:
        parts, telling = snapshot.familiar.state()
        arrays |= {f"{_FAMILIAR}{name}": each for name, each in parts.items()}
    metadata: dict[str, Any] = {
        INFERENCE_ONLY: True,
        "backbone": describe_backbone(snapshot.extractor.backbone, snapshot.source),
        "config": {"readout": snapshot.readout.name},
        "encoder": {
            "labels": list(snapshot.labels),
            "features": snapshot.readout.features,
            "projection": projection,
            "sharpness": snapshot.sharpness,
            "familiarity": telling,
        },
    }
    write_model(path, arrays, metadata)
