"""``foro export``: writes a model for predicting elsewhere, and checks what was written on real images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones.source import precision_of
from foro.errors import BackboneError, InputError, ModelFileError
from foro.files.inference_file import read_snapshot, write_inference
from foro.images.load import READING, Images, load_crop
from foro.images.made_up import made_up_pictures
from foro.snapshot import Snapshot

TOLERANCE = 1e-3
"""Largest difference of a probability: what single precision may cost."""


@dataclass(frozen=True)
class Exported:
    """What was written, and how far it is from the model on the images it was checked on."""

    files: tuple[Path, ...]
    checked_images: int
    largest_difference: float  # of any probability
    same_labels: int  # images with the same most likely label

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.stat().st_size for file in self.files)


def export_model(
    snapshot: Snapshot, path: str | Path, images: Images | None = None, portable: bool = False
) -> Exported:
    """Writes ``.onnx`` or ``.safetensors``, reads it again, and compares both on images (or made-up ones).

    ``portable`` is for ``.safetensors``: the matrix of the projection, not only its seed. ``.onnx`` always has it.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".onnx", ".safetensors"):
        raise InputError(f"{path} must end in .onnx or .safetensors, which tells what to write")
    if images is not None and not len(images):
        raise InputError("there is no image to check the export on")
    checked = made_up_pictures(32) if images is None else images
    expected = _with_unknown(*snapshot.answers(checked))
    if kind == ".onnx":
        files, found = _write_onnx(snapshot, path, checked)
    else:
        write_inference(snapshot, path, portable)
        files, found = [path], _with_unknown(*read_snapshot(path, snapshot.extractor.backbone).answers(checked))
    difference = float(np.abs(found - expected).max()) if found.shape == expected.shape else np.inf
    same = int((found[:, 1:].argmax(axis=1) == expected[:, 1:].argmax(axis=1)).sum()) if np.isfinite(difference) else 0
    if not difference <= TOLERANCE:
        for file in files:
            file.unlink(missing_ok=True)
        raise ModelFileError(
            f"{path} was removed again: its probabilities differ from the model's by up to {difference:.2g}, "
            f"more than {TOLERANCE:g}"
        )
    return Exported(tuple(files), len(expected), difference, same)


def _write_onnx(snapshot: Snapshot, path: Path, images: Images) -> tuple[list[Path], NDArray[Any]]:
    from foro.files.export.model_graph import build_model_graph
    from foro.files.export.onnx_file import write_onnx

    backbone: Any = snapshot.extractor.backbone
    if not hasattr(backbone, "checkpoint"):
        raise BackboneError(f"the weights of {backbone.name} cannot be read, which ONNX needs: load it by name")
    if (precision := precision_of(backbone.fingerprint)) != "float32":
        raise BackboneError(
            f"{backbone.name} runs with precision {precision}, which cannot be exported to ONNX: export .safetensors"
        )
    checkpoint, gains = backbone.checkpoint(), snapshot.candidate.gains
    graph = build_model_graph(snapshot, checkpoint if gains is None else checkpoint.with_gains(gains))
    files = write_onnx(path, graph, describe(snapshot))
    return files, run_onnx(path, [load_crop(image, backbone.preprocessing) for image in images])


def describe(snapshot: Snapshot) -> dict[str, str]:
    """The metadata of an ONNX file: everything to prepare an image and to read the answer."""
    backbone = snapshot.extractor.backbone
    how = backbone.preprocessing
    facts = {
        "labels": list(snapshot.labels),
        "preprocessing": {**how.to_dict(), "resize": how.resized, "steps": [*READING, *how.steps()]},
        "backbone": {"name": backbone.name, "fingerprint": backbone.fingerprint},
        "sharpness": snapshot.sharpness,
    }
    return {key: json.dumps(value, ensure_ascii=False) for key, value in facts.items()}


def run_onnx(path: Path, crops: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """The chance of being unknown and probabilities (n, 1 + c) of crops (S, S, 3) by bare ONNX Runtime.

    Eight are run at a time; the chance is 0 where the model does not know it.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    told = {each.name for each in session.get_outputs()}
    parts = []
    for start in range(0, len(crops), 8):
        given = {"image": np.stack(crops[start : start + 8])}
        (likely,) = session.run(["probabilities"], given)
        unknown = session.run(["unknown"], given)[0] if "unknown" in told else np.zeros(len(likely))
        parts.append(_with_unknown(likely, unknown))
    return np.concatenate(parts)


def _with_unknown(likely: NDArray[Any], unknown: NDArray[Any]) -> NDArray[Any]:
    """Both as one array (n, 1 + c)."""
    return np.concatenate([np.nan_to_num(unknown)[:, None], likely], axis=1)
