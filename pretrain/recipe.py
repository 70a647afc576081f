"""The recipe of `nano`: every number that shapes a run, with the final choice as the default."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, fields
from typing import Any

PATCH, TEACHER_PATCH = 8, 16
"""Pixels a side of a patch of the student and of the teacher, who looks at the same picture in as many patches."""


def _option(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Recipe:
    """One training run; two runs with equal recipes and data give equal weights."""

    seed: int = _option(0, "seed of everything random")
    steps: int = _option(4_000, "steps of the whole schedule")
    batch: int = _option(64, "pictures a step")

    side: int = _option(96, "pixels a side that the student looks at, and half of what the teacher looks at")
    start: str = _option("", "folder of the weights to start from; empty: from random ones")

    collage_every: int = _option(3, "one step in so many shows four images side by side; 0: none does")
    area: float = _option(0.3, "smallest area of a crop, as a part of the picture")
    colour: float = _option(1.0, "factor on the probabilities of changes of colour")

    alone_end: float = _option(0.4, "part of the schedule in which every block learns by itself")
    drop_alone: float = _option(0.7, "part of the patches left out until then")
    drop: float = _option(0.5, "part of the patches left out from then on")
    drop_end: float = _option(0.93, "part of the schedule after which no patch is left out")
    cls_weight: float = _option(1.0, "weight of the class token's distance, where that of all patch tokens is 1")
    last_weight: float = _option(2.0, "weight of the distance to the last class token, in the second part")
    logit_weight: float = _option(0.5, "weight of the divergence from the teacher's logits, in the second part")

    matrix_lr: float = _option(8e-3, "peak learning rate of Muon")
    lr: float = _option(4e-3, "peak learning rate of AdamW")
    weight_decay: float = _option(0.01, "weight decay of the matrices")
    warmup: float = _option(0.01, "part of the schedule in which the learning rate rises")
    plateau_end: float = _option(0.3, "part of the schedule after which the learning rate falls to zero")

    @property
    def grid(self) -> int:
        """Patches a side."""
        return self.side // PATCH

    @property
    def teacher_side(self) -> int:
        """Pixels a side that the teacher looks at."""
        return self.grid * TEACHER_PATCH


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give `parser` one option for each number of the recipe."""
    for option in fields(Recipe):
        parser.add_argument(
            "--" + option.name.replace("_", "-"),
            type=type(option.default),
            default=option.default,
            help=f"{option.metadata['help']} (default: %(default)s)",
        )


def from_options(options: argparse.Namespace) -> Recipe:
    """Read the recipe off the parsed command line."""
    return Recipe(**{option.name: getattr(options, option.name) for option in fields(Recipe)})
