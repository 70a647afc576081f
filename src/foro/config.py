"""Every setting of a learner, each with its help text; command-line flags and docs are made from here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from foro.adaptation.evolution import Covariance
from foro.errors import InputError
from foro.heads.ridge.encoder import Regularisation, check_regularisation

Policy = Literal["none", "freeze", "evolve"]


def _setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class LearnerConfig:
    """Settings of a learner; symbols are the paper's."""

    policy: Policy = _setting(
        "freeze",
        "none: no prompt; freeze: evolve a prompt on the first task, then keep it, so that learning stays exact; "
        "evolve: go on evolving with every task, as the paper does",
    )
    online: bool = _setting(
        False, "with policy evolve: one generation per batch, whose best candidate gives the features, as in the paper"
    )
    online_batch: int = _setting(64, "images per generation of the online mode")
    prompt_tokens: int = _setting(3, "P, tokens of a prompt")
    population: int = _setting(6, "K, candidates of a generation")
    generations: int = _setting(30, "most generations of a search")
    patience: int = _setting(10, "generations without a better candidate that end a search")
    search_images: int = _setting(300, "most images that candidates are compared on")
    initial_step: float = _setting(1.0, "initial step size of CMA-ES")
    covariance: Covariance = _setting("separable", "separable or full covariance of CMA-ES")
    fitness: str = _setting(
        "entropy",
        "terms of the fitness, joined by +: entropy, discrepancy; both: these two; a prompt evolved on one task has no "
        "earlier task to drift from",
    )
    discrepancy_weight: float = _setting(0.3, "λ, weight of the activation discrepancy against the summed entropy")
    history_rate: float = _setting(0.1, "α, share of a new task in the activation history")
    projection_dim: int | None = _setting(8192, "M, width of the random projection; None: no projection")
    activation: str = _setting("relu", "φ after the projection: relu, gelu or tanh")
    regularisation: Regularisation = _setting("auto", "γ of the classifier, or auto for cross-validation")
    readout_layers: int = _setting(1, "last layers whose CLS the classifier sees")

    def __post_init__(self) -> None:
        for name, choices in (("policy", Policy), ("covariance", Covariance)):
            if getattr(self, name) not in get_args(choices):
                allowed = ", ".join(get_args(choices))
                raise InputError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not low <= value <= high:
                raise InputError(f"{name} must be a number between {low:g} and {high:g}, not {value!r}")
        if self.projection_dim is not None and (not isinstance(self.projection_dim, int) or self.projection_dim < 1):
            raise InputError(
                f"projection_dim must be a whole number of at least 1, or None, not {self.projection_dim!r}"
            )
        if not isinstance(self.online, bool):
            raise InputError(f"online must be true or false, not {self.online!r}")
        if self.online and self.policy != "evolve":
            raise InputError("online needs policy evolve")
        check_regularisation(self.regularisation)

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
        return asdict(self)


_LEAST = {
    "online_batch": 2,
    "prompt_tokens": 1,
    "population": 2,
    "generations": 1,
    "patience": 1,
    "search_images": 16,
    "readout_layers": 1,
}

_RANGES = {"history_rate": (0.0, 1.0), "initial_step": (1e-6, 1e6), "discrepancy_weight": (0.0, 1e6)}


def check_seed(seed: int) -> int:
    """A seed that NumPy takes."""
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"a seed must be a whole number that is not negative, not {seed!r}")
    return seed


PRESETS = {
    "default": LearnerConfig(),
    "paper": LearnerConfig(policy="evolve", online=True, fitness="both", regularisation=0.1),
}
"""``default`` is what we measured to work best; ``paper`` has every value of the paper."""
