"""Model files that are read and not changed: for predicting, or to describe what they hold."""

from __future__ import annotations

from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foro.backbones import Backbone
from foro.errors import ModelFileError, counted
from foro.files import INFERENCE_ONLY, check_digests, explained, read_model
from foro.files.inference_file import read_snapshot
from foro.files.journal import journal_path
from foro.files.model_file import head_arrays
from foro.ledger import Ledger
from foro.snapshot import Snapshot

if TYPE_CHECKING:
    from foro.learner import Learner


def load_snapshot(path: str | Path, backbone: str | Path | Backbone | None = None) -> Snapshot:
    """A model file of either kind, for predicting: reads no statistics and imports no solver, so it starts at once.

    Changes that are in the journal beside the model and not in the model yet count, as they do for ``Learner.load``.
    """
    if journal_path(Path(path)).exists():
        from foro.learner import Learner

        return Learner.load(path, backbone).snapshot()
    return read_snapshot(path, backbone)


def load_learner(path: Path, backbone: str | None = None) -> Learner | None:
    """The learner of a model file, to be asked and not to be changed; None where there is no model yet."""
    if not path.exists() and not journal_path(path).exists():
        return None
    from foro.learner import Learner

    return Learner.load(path, backbone)


_SHOWN = ("encoder.counts", "encoder.confidence.scores", "encoder.confidence.classes")


def describe(path: str | Path, backbone: str | None = None, verify: bool = False) -> dict[str, Any]:
    """Classes with their counts, backbone, settings, size and history of learning of a model file, JSON-ready.

    What is in the journal beside the model and not in the model yet counts too; only then the backbone is needed.
    ``verify`` reads the whole file and refuses one that is not what was written.
    """
    from foro.files.history import History, undo_limit  # not for predicting, which starts at once

    path = Path(path)
    unsaved = 0
    if verify and path.exists():
        check_whole(path)
    if journal_path(path).exists():
        from foro.files.recovery import recover
        from foro.learner import Learner

        found = recover(Learner, path, backbone)
        unsaved = found.replayed
        arrays, metadata = found.learner.state()
        metadata["ledger"]["stamp"] = found.learner.ledger.stamp  # nothing is written here
    else:
        arrays, metadata = read_model(path)
        check_digests(path, arrays, metadata, [name for name in _SHOWN if name in arrays])
    if metadata.get(INFERENCE_ONLY):
        known = counted(len(metadata["encoder"]["labels"]), "label")
        raise ModelFileError(f"{path} is for predicting only: it knows {known}, but not how they were learned")
    with explained(path):
        encoder = metadata["encoder"]
        ledger = Ledger.from_state(metadata["ledger"])
        history = History(path, undo_limit())
        labels, prompt = encoder["labels"], arrays.get("prompt")
        counts = [int(count) for count in arrays["encoder.counts"]]
        measured = _estimate(arrays, encoder)
        return {
            "model": str(path),
            "bytes": path.stat().st_size if path.exists() else 0,
            "unsaved_changes": unsaved,
            "verified": verify,
            "samples": encoder["samples"],
            "classes": [
                {
                    "label": label,
                    "samples": count,
                    "last_taught": ledger.taught.get(label),
                    "expected_accuracy": measured.get(label),
                }
                for label, count in zip(labels, counts, strict=True)
            ],
            "forgotten": encoder["forgotten"],
            "expected_accuracy": measured.get(None),
            "backbone": metadata["backbone"],
            "prompt_tokens": 0 if prompt is None else len(prompt),
            "gains": "gains" in arrays,
            "tasks": metadata["tasks"],
            "seed": metadata["seed"],
            "settings": metadata["config"],
            "regularisation": encoder.get("regularisation_used"),
            "undo": {"changes": history.left(ledger), "bytes": history.bytes},
            "log": [
                {"number": number, **asdict(event)}
                for number, event in zip(accumulate(each.times for each in ledger.events), ledger.events, strict=True)
            ],
        }


def check_whole(path: Path) -> None:
    """Refuses a model file of which any number is not what was written, or whose parts do not fit together."""
    arrays, metadata = read_model(path)
    check_digests(path, arrays, metadata)
    if not metadata.get(INFERENCE_ONLY):
        from foro.heads import find_head
        from foro.known import Known

        with explained(path):
            Known.from_state(arrays, metadata.get("known", []))
            find_head(metadata["config"]["head"]).from_state(head_arrays(arrays), metadata["encoder"])


def unusual_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that are not those of the default preset."""
    from foro.config import PRESETS

    usual = PRESETS["default"].as_dict()
    return {name: value for name, value in settings.items() if usual.get(name) != value}


def _estimate(arrays: dict[str, Any], encoder: dict[str, Any]) -> dict[Any, float | None]:
    """Accuracy to expect for each label, and under None for all of them."""
    if "encoder.confidence.scores" not in arrays:
        return {}
    import numpy as np

    from foro.heads.ridge.confidence import Confidence

    scores = arrays["encoder.confidence.scores"].astype(np.float64)
    confidence = Confidence(scores, arrays["encoder.confidence.classes"], encoder["sharpness"])
    found = confidence.estimate(encoder["labels"])
    shares = {label: right / judged if judged else None for label, (judged, right) in found.classes.items()}
    return {**shares, None: found.accuracy}
