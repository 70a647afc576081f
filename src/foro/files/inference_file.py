"""Models for predicting: read fast from any model file, and written to a small one that cannot learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from foro.backbones import Backbone
from foro.backbones.source import describe_backbone, taught_backbone
from foro.errors import FoRoError, InputError, ModelFileError
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.files import INFERENCE_ONLY, read_model, write_model
from foro.heads.familiarity import Familiarity
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
        projection = None
        if activation:
            projection = RandomProjection(arrays["encoder.projection"], activation, [*map(tuple, encoder["blocks"])])
        width = projection.matrix.shape[1] if projection else encoder["features"]
        if weights.shape != (width, len(labels)):
            raise ModelFileError(f"{path} is not a model of one piece: its weights have the shape {weights.shape}")
        sharpness, familiar, prefix = encoder["sharpness"], None, "encoder.familiarity."
        if encoder.get("familiarity") is not None:
            parts = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
            familiar = Familiarity.from_state(parts, encoder["familiarity"])
            if len(familiar.offsets) != len(labels):
                raise ValueError("not every label is known to be familiar")
        source, found = taught_backbone(path, metadata["backbone"], backbone)
        readout = Readout.of(metadata["config"]["readout"], found)
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
    except FoRoError:
        raise
    except ValueError as error:
        raise ModelFileError(f"{path} is not a model of one piece: {error}") from None
    candidate = Candidate.from_arrays(arrays)
    return Snapshot(labels, weights, sharpness, candidate, projection, readout, Extractor(found), source, familiar)


def write_inference(snapshot: Snapshot, path: str | Path) -> None:
    """Writes what predicting needs, in single precision: a fraction of a model file, but it cannot learn."""
    projection = snapshot.projection
    arrays: Arrays = {"encoder.weights": snapshot.weights.T.astype(np.float32)}
    if projection is not None:
        arrays["encoder.projection"] = projection.matrix
    arrays |= snapshot.candidate.arrays()
    telling = None
    if snapshot.familiar is not None:
        parts, telling = snapshot.familiar.state()
        arrays |= {f"encoder.familiarity.{name}": each for name, each in parts.items()}
    metadata: dict[str, Any] = {
        INFERENCE_ONLY: True,
        "backbone": describe_backbone(snapshot.extractor.backbone, snapshot.source),
        "config": {"readout": snapshot.readout.name},
        "encoder": {
            "labels": list(snapshot.labels),
            "features": snapshot.readout.features,
            "activation": projection.activation if projection else None,
            "blocks": projection.blocks if projection else [],
            "sharpness": snapshot.sharpness,
            "familiarity": telling,
        },
    }
    write_model(path, arrays, metadata)
