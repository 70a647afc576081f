"""Settings of a baseline: a frozen dataclass with a help text for each field, checked when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from foro.errors import InputError


def setting(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] | None = None,
    optional: bool = False,
    word: str | None = None,
) -> Any:
    """A field with its help text and what it may be; ``optional`` ones may be None, a number may also be a ``word``."""
    checks = {"least": least, "most": most, "choices": choices, "optional": optional, "word": word}
    return field(default=default, metadata={"help": help, **checks})


@dataclass(frozen=True)
class BaselineSettings:
    """What all baselines have."""

    preset: str = setting(
        "published",
        "published: the settings of the method's own paper or code; fast: a short version for small machines",
        choices=("published", "fast"),
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), each.default, each.metadata)


def _check(name: str, value: Any, usual: Any, checks: Any) -> None:
    if (value is None and checks.get("optional")) or (value == checks.get("word") is not None):
        return
    if choices := checks.get("choices"):
        if value not in choices:
            raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    kind = float if (usual is None and number) or checks.get("word") else type(usual)
    if usual is not None or number:
        fits = number if kind is float else type(value) is kind
        if not fits:
            raise InputError(f"{name} cannot be {value!r}: it is a setting like {usual!r}")
    least, most = checks.get("least"), checks.get("most")
    if number and ((least is not None and value < least) or (most is not None and value > most)):
        ends = (("at least", least), ("at most", most))
        bounds = [f"{words} {end:g}" for words, end in ends if end is not None]
        raise InputError(f"{name} must be {' and '.join(bounds)}, not {value!r}")
