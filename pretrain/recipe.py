"""The recipe of `nano`: every number that shapes a run, with the final choice as the default."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, fields
from typing import Any


def _option(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Recipe:
    """One training run; two runs with equal recipes and data give equal weights."""

    seed: int = _option(0, "seed of everything random")
    steps: int = _option(2_200, "steps of the whole schedule")
    batch: int = _option(192, "images a step")
    images: int = _option(88_000, "images trained on, drawn by the seed")

    side: int = _option(96, "pixels a side that the student looks at")
    patch: int = _option(8, "pixels a side of a patch of the student")
    dim: int = _option(192, "width of the student")
    depth: int = _option(9, "blocks of the student")
    heads: int = _option(3, "attention heads of the student")
    registers: int = _option(0, "register tokens of the student")

    start: str = _option("runs/start", "folder of the weights to start from; empty: from random ones")

    teacher_side: int = _option(192, "pixels a side that the teacher looks at")
    views: int = _option(2, "views of each image the teacher looks at: even ones of the whole, odd ones of a part")

    cls_weight: float = _option(5.0, "weight of the distance to the teacher's last class token")
    token_weight: float = _option(3.0, "weight of the distance to the teacher's patch tokens")
    logit_weight: float = _option(0.5, "weight of the divergence from the teacher's logits")
    label_weight: float = _option(0.3, "weight of the cross-entropy to the labels")
    depth_weight: float = _option(2.0, "weight of the distance to class and mean tokens of earlier blocks")

    matrix_lr: float = _option(1.5e-3, "peak learning rate of Muon")
    lr: float = _option(7e-4, "peak learning rate of AdamW")
    weight_decay: float = _option(0.05, "weight decay of the matrices")
    warmup: float = _option(0.025, "part of the schedule in which the learning rate rises")
    plateau_end: float = _option(0.2, "part of the schedule after which the learning rate falls to zero")
    drop: float = _option(0.6, "part of the patches left out")
    drop_end: float = _option(0.92, "part of the schedule after which no patch is left out")
    average: float = _option(0.999, "decay of the weight average")

    @property
    def grid(self) -> int:
        """Patches a side."""
        return self.side // self.patch

    @property
    def model_args(self) -> dict[str, int]:
        """The student's shape in timm's words."""
        return {
            "img_size": self.side,
            "patch_size": self.patch,
            "embed_dim": self.dim,
            "depth": self.depth,
            "num_heads": self.heads,
            "reg_tokens": self.registers,
        }


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
