"""Settings of a baseline: a frozen dataclass with a help text for each field, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_args, get_type_hints

from foro.errors import InputError


def setting(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] | None = None,
    optional: bool = False,
    words: Sequence[str] = (),
) -> Any:
    """A field with its help text and what it may be; ``optional`` ones may be None, a number may also be a word."""
    checks = {"least": least, "most": most, "choices": choices, "optional": optional, "words": words}
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
        hints = get_type_hints(type(self))
        for each in fields(self):
            kind = next(part for part in (*get_args(hints[each.name]), hints[each.name]) if isinstance(part, type))
            value = getattr(self, each.name)
            if kind is str and type(value) is int:  # text that looks like a number on a command line
                object.__setattr__(self, each.name, str(value))
                continue
            _check(each.name, value, kind, each.default, each.metadata)


def _check(name: str, value: Any, kind: type, usual: Any, checks: Any) -> None:
    if (value is None and checks["optional"]) or value in checks["words"]:
        return
    if choices := checks["choices"]:
        if value not in choices:
            raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        return
    number = type(value) in (int, float) and math.isfinite(value)
    if not (number if kind is float else type(value) is kind):
        like = kind.__name__ if usual is None else repr(usual)
        raise InputError(f"{name} cannot be {value!r}: it is a setting like {like}")
    least, most = checks["least"], checks["most"]
    if (least is not None and value < least) or (most is not None and value > most):
        ends = (("at least", least), ("at most", most))
        bounds = [f"{words} {end:g}" for words, end in ends if end is not None]
        raise InputError(f"{name} must be {' and '.join(bounds)}, not {value!r}")
