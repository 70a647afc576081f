"""What a model file holds of a knowledge encoder, and whether that is of one piece when it is read again.

What can be made again to the last digit is left out: of few samples there are the features and the dual form of the
classifier, and nothing of size M; of the projection, its seed. What is read may be damaged, or made to do harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foro.config import check_seed
from foro.heads.familiarity import Coefficients
from foro.heads.head import BLOCK
from foro.heads.projection import RandomProjection
from foro.heads.ridge.confidence import Confidence
from foro.heads.ridge.forgotten import Forgotten
from foro.heads.ridge.reservoir import EVERYTHING, Reservoir
from foro.heads.ridge.statistics import Statistics, check_array, check_classes, check_counts
from foro.labels import check_names
from foro.types import Arrays

if TYPE_CHECKING:
    from foro.heads.ridge.encoder import KnowledgeEncoder


def encoder_state(encoder: KnowledgeEncoder) -> tuple[Arrays, dict[str, Any]]:
    """Everything to store: arrays by name, and JSON-ready settings."""
    labels, gamma, sharpness, telling, projection = encoder.labels, None, None, None, None
    classifier: Arrays = {}
    if labels:  # first: to solve may move the tail
        gamma, sharpness, familiarity = encoder.regularisation_used, encoder.sharpness, encoder.familiarity()
        confidence = encoder._measured()
        classifier = _classifier(encoder)
        classifier["confidence.scores"] = confidence.scores.astype(np.float32)
        classifier["confidence.classes"] = confidence.classes
        if familiarity is not None:
            parts, telling = familiarity.state()
            classifier |= {f"familiarity.{name}": array for name, array in parts.items()}
    kept, reservoir = encoder._reservoir.state(labels)
    moments, summed = encoder._moments.state()
    arrays = {
        **encoder._statistics.state(encoder.features),
        **classifier,
        **{f"reservoir.{name}": array for name, array in kept.items()},
        **{f"moments.{name}": array for name, array in moments.items()},
    }
    if encoder._forgotten:
        arrays |= Forgotten.state(encoder._forgotten)
    if encoder.projection is not None:
        matrix, projection = encoder.projection.state()
        arrays |= matrix
    settings = {
        "features": encoder.features,
        "projection": projection,
        "regularisation": encoder.regularisation,
        "regularisation_used": gamma,
        "seed": encoder.seed,
        "samples": encoder.samples,
        "labels": labels,
        "forgotten": encoder.forgotten,
        "reservoir": reservoir,
        "sharpness": sharpness,
        "moments": summed,
        "familiarity": telling,
    }
    return arrays, settings


def _classifier(encoder: KnowledgeEncoder) -> Arrays:
    """W, or its dual form α = (HHᵀ + γI)⁻¹Y where the samples are few: W = Hᵀα takes M / r times as much.

    Not (Y − HW) / γ, which is the same on paper: of W that was made of α, it would have 1 / γ times its rounding.
    """
    statistics, (weights, gamma) = encoder._statistics, encoder._solve()
    if not statistics.complete or len(statistics.tail) > BLOCK:
        return {"weights": weights.T}
    rows = statistics.tail
    dual = np.linalg.solve(rows @ rows.T + gamma * np.eye(len(rows)), statistics.tail_targets())
    encoder._solution = np.asarray(statistics.tail.T @ dual), gamma  # the last digits of what is read again
    return {"dual": dual}


def read_encoder(kind: type[KnowledgeEncoder], arrays: Arrays, settings: dict[str, Any]) -> KnowledgeEncoder:
    """The encoder whose ``encoder_state`` this is; takes over the arrays."""
    features, labels, projection = settings["features"], settings["labels"], None
    if settings["projection"] is not None:
        projection = RandomProjection.from_state(arrays.get("projection"), settings["projection"], features)
    size = features if projection is None else projection.matrix.shape[1]
    check_names(labels, settings["forgotten"])
    statistics = Statistics.from_state(arrays, size, features, len(labels), settings["samples"], projection)
    _check(arrays, settings, statistics)
    encoder = kind.__new__(kind)
    encoder._assemble(features, projection, settings["regularisation"], check_seed(settings["seed"]), statistics)
    encoder._labels = list(labels)
    if labels:
        gamma, scores = float(settings["regularisation_used"]), arrays["confidence.scores"].astype(np.float64)
        encoder.solver.keep(gamma)
        weights = arrays["weights"].T if "weights" in arrays else np.asarray(statistics.tail.T @ arrays["dual"])
        encoder._solution = weights, gamma
        encoder._confidence = Confidence(scores, arrays["confidence.classes"], float(settings["sharpness"]))
    kept = {name: arrays[f"reservoir.{name}"] for name in ("features", "classes", "counts")}
    encoder._reservoir = Reservoir.from_state(kept, settings["reservoir"], encoder._labels)
    encoder._forgotten = Forgotten.from_state(arrays, settings["forgotten"])
    prefix = "moments."
    moments = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
    encoder._moments.restore(moments, settings["moments"], [*labels, *settings["forgotten"]])
    encoder._coefficients = Coefficients.from_settings(settings["familiarity"])
    return encoder


def _check(arrays: Arrays, settings: dict[str, Any], statistics: Statistics) -> None:
    """Refuses what does not fit the statistics: a part that is not there is a KeyError, a wrong one a ValueError."""
    features, size, classes = settings["features"], statistics.size, len(settings["labels"])
    expected = {"reservoir.features": (len(arrays["reservoir.classes"]), features)}
    check_classes(arrays, "reservoir.classes", classes)
    check_counts(arrays, "reservoir.counts", len(arrays["reservoir.classes"]))
    if forgotten := len(settings["forgotten"]):
        away = len(arrays["forgotten.classes"])
        expected |= {"forgotten.cross": (forgotten, size), "forgotten.features": (away, features)}
        check_classes(arrays, "forgotten.classes", forgotten)
        check_counts(arrays, "forgotten.counts", forgotten)
        check_counts(arrays, "forgotten.multiplicities", away)
    if classes:
        expected |= {"confidence.scores": (len(arrays["confidence.classes"]), classes)}
        dual = "weights" not in arrays
        expected |= {"dual": (len(statistics.tail), classes)} if dual else {"weights": (classes, size)}
        check_classes(arrays, "confidence.classes", classes)
        for name in ("regularisation_used", "sharpness"):
            if not 0 < float(settings[name]) < np.inf:
                raise ValueError(f"its {name} is {settings[name]}")
    for name, shape in expected.items():
        check_array(arrays, name, shape)
    if not 0 <= int(settings["reservoir"]["bound"]) <= EVERYTHING:
        raise ValueError("the bound of the reservoir is no hash")
