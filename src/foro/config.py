"""Every setting of a learner, each with its help text; command-line flags and docs are made from here."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from foro.errors import InputError
from foro.util.settings import check_settings, setting

Policy = Literal["none", "freeze", "evolve"]
Covariance = Literal["auto", "separable", "full"]
Adapted = Literal["none", "prompt", "gains", "both"]
Regularisation = float | Literal["auto"]
Preset = Literal["default", "adapt", "paper"]

DEFAULT_BACKBONE = "nano"
"""Of a new model: the one that needs no download."""

HELD_OUT = 0.1
"""Share of the images of a lesson that its accuracy is measured on before they are learned too."""

CHUNK = 4096
"""Images of a stream that are learned together: what a crash, or the end of memory, can cost."""


@dataclass(frozen=True)
class LearnerConfig:
    """Settings of a learner; symbols are the paper's."""

    policy: Policy = setting(
        "freeze",
        "no prompt (none), one that is evolved on the first task and then kept, so that learning stays exact (freeze), "
        "or one that evolves with every task, as in the paper (evolve)",
        flag=True,
    )
    adaptation: Adapted = setting(
        "none",
        "what is evolved: nothing (none), a prompt, gains of the blocks, which cost nothing once frozen, or both",
        flag=True,
    )
    online: bool = setting(
        False, "with policy evolve: one generation per batch, whose best candidate gives the features, as in the paper"
    )
    online_batch: int = setting(64, "images per generation of the online mode", least=2)
    prompt_tokens: int = setting(3, "P, tokens of a prompt", least=1)
    population: int | None = setting(None, "K, candidates of a generation; None: 6, of gains alone 12", least=2)
    generations: int = setting(30, "most generations of a search", least=1)
    patience: int = setting(3, "generations that bring nothing better, and end a search", least=1)
    search_images: int = setting(300, "most images that candidates are compared on", least=16)
    search_price: float = setting(
        3.0,
        "with policy freeze: most forward passes of the search, as a multiple of those of the first lesson",
        least=0,
    )
    search_seconds: float | None = setting(
        None, "with policy freeze: most seconds of the search, whatever its price; None: no limit", least=0
    )
    initial_step: float = setting(1.0, "initial step size of CMA-ES for prompts", least=1e-6, most=1e6)
    gain_step: float = setting(0.1, "initial step size of CMA-ES for gains", least=1e-6, most=1e6)
    covariance: Covariance = setting("auto", "covariance of CMA-ES; auto: separable, of gains alone full")
    fitness: str = setting(
        "few-shot",
        "terms of the fitness, joined by +: few-shot (heads that were taught two images of each class), entropy (heads "
        "that were taught all images but one), discrepancy; both: the last two, as in the paper",
    )
    discrepancy_weight: float = setting(
        0.3, "λ, weight of the activation discrepancy against the summed entropy", least=0, most=1e6
    )
    history_rate: float = setting(0.1, "α, share of a new task in the activation history", least=0, most=1)
    projection_dim: int | None = setting(8192, "M, width of the random projection; None: no projection", least=1)
    activation: str = setting("relu", "φ after the projection: relu, gelu or tanh")
    regularisation: Regularisation = setting("auto", "γ of the classifier, or auto for cross-validation")
    readout: str = setting(
        "groups",
        "what the head sees: groups (the last CLS, the CLS of earlier layers, mean patch tokens, each with its own "
        "projection), cls (the last one, as in the paper), or cls and a number of last layers",
    )
    head: str = setting(
        "ridge", "the classifier: ridge (the paper's knowledge encoder) or nearest-mean (nearest class mean by angle)"
    )

    def __post_init__(self) -> None:
        check_regularisation(self.regularisation)
        check_settings(self)
        if self.online and self.policy != "evolve":
            raise InputError("online needs policy evolve")

    @classmethod
    def from_preset(cls, preset: str | LearnerConfig = "default", **overrides: Any) -> LearnerConfig:
        """A preset, by name or as it is, with some of its settings overridden."""
        if isinstance(preset, str) and preset not in PRESETS:
            raise InputError(f"unknown preset {preset!r}; choose one of {', '.join(PRESETS)}")
        known = [each.name for each in fields(cls)]
        for name in overrides:
            if name not in known:
                raise InputError(f"unknown setting {name!r}; settings are {', '.join(known)}")
        return replace(PRESETS[preset] if isinstance(preset, str) else preset, **overrides)

    def as_dict(self) -> dict[str, Any]:
        """Every setting by its name, JSON-ready."""
        return asdict(self)


def check_regularisation(value: Regularisation) -> Regularisation:
    """γ as a float, or ``auto``."""
    if value == "auto":
        return "auto"
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not (math.isfinite(value) and value > 0):
        raise InputError(f'regularisation must be a positive number or "auto", not {value!r}')
    return float(value)


def check_seed(seed: int) -> int:
    """A seed that NumPy takes."""
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"a seed must be a whole number that is not negative, not {seed!r}")
    return seed


def parse_settings(assignments: Sequence[str]) -> dict[str, Any]:
    """``["population=4", "regularisation=auto"]`` as settings: numbers, true, false and none as such, else text."""
    settings: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not name or not equals or not text:
            raise InputError(f"a setting is written name=value, not {assignment!r}")
        try:
            settings[name] = None if text.lower() in ("none", "null") else json.loads(text.lower())
        except ValueError:
            settings[name] = text
    return settings


PRESETS: dict[Preset, LearnerConfig] = {
    "default": LearnerConfig(),
    "adapt": LearnerConfig(adaptation="gains", search_price=30.0),
    "paper": LearnerConfig(
        policy="evolve",
        adaptation="prompt",
        readout="cls",
        population=6,
        covariance="separable",
        online=True,
        fitness="both",
        regularisation=0.1,
    ),
}
"""``default`` leaves the backbone as it is, which at its own image size nothing was measured to beat for its price;
``adapt`` searches gains on the first lesson; ``paper`` has every value of the paper."""
