"""What is kept of a label that was dropped, so that it can be restored as if nothing had happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.heads.ridge.reservoir import Reservoir
from foro.types import Float64, Label


@dataclass(frozen=True)
class Forgotten:
    """The column (M,) of C, the number of samples, and those of them that the reservoir had."""

    column: Float64
    count: int
    reservoir: Reservoir

    def joined(self, later: Forgotten) -> Forgotten:
        """Both, for a label that was dropped, learned and dropped again, or dropped in two encoders that are merged."""
        both = Reservoir(self.reservoir.features.shape[1])
        for each in (self.reservoir, later.reservoir):
            both.merge(each)
        return Forgotten(self.column + later.column, self.count + later.count, both)

    @staticmethod
    def state(forgotten: Mapping[Label, Forgotten]) -> dict[str, NDArray[Any]]:
        """Arrays to store, for labels that are stored beside them."""
        labels, width = list(forgotten), next(iter(forgotten.values())).reservoir.features.shape[1]
        samples = Reservoir(width)
        for each in forgotten.values():
            samples.merge(each.reservoir)
        kept, _ = samples.state(labels)
        return {
            "forgotten.cross": np.stack([each.column for each in forgotten.values()]),
            "forgotten.counts": np.array([each.count for each in forgotten.values()], dtype=np.int64),
            **{f"forgotten.{name}": array for name, array in kept.items() if name != "counts"},
            "forgotten.multiplicities": kept["counts"],
        }

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], labels: list[Label]) -> dict[Label, Forgotten]:
        """What each of the labels was, as ``state`` had it."""
        if not labels:
            return {}
        kept = {name: arrays[f"forgotten.{name}"] for name in ("features", "classes")}
        samples = Reservoir.from_state(
            {**kept, "counts": arrays["forgotten.multiplicities"]}, {"bound": Reservoir(1).bound}, labels
        )
        columns, counts = arrays["forgotten.cross"], arrays["forgotten.counts"]
        return {
            label: cls(columns[number], int(counts[number]), samples.drop(label)) for number, label in enumerate(labels)
        }
