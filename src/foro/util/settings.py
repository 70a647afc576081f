"""Settings as frozen dataclasses: each field has a type, a default, a help text and bounds; flags are made of them."""

from __future__ import annotations

import math
from dataclasses import field, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from foro.errors import InputError

_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def setting(
    default: Any, help: str, *, least: float | None = None, most: float | None = None, repr: bool = True, **about: Any
) -> Any:
    """A field with its help text and bounds; ``about`` is for those who make flags of it."""
    return field(default=default, repr=repr, metadata={"help": help, "least": least, "most": most, **about})


def check_settings(settings: Any) -> None:
    """Refuses values that the types and bounds of the fields do not allow; for ``__post_init__``.

    ``name=none`` of a command line is read as None before anyone knows that the setting has a value of that name.
    """
    types = get_type_hints(type(settings))
    for each in fields(settings):
        kind, value = types[each.name], getattr(settings, each.name)
        if value is None and "none" in get_args(kind):
            object.__setattr__(settings, each.name, "none")
            continue
        _check(each.name, value, kind, **each.metadata)


def _check(name: str, value: Any, kind: Any, least: float | None, most: float | None, **_: Any) -> None:
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    words = [word for each in kinds for word in ((None,) if each is NoneType else get_args(each))]
    plain = next((each for each in kinds if each in _NAMES), None)
    if value in words or _fits(value, plain, least, most):
        return
    if plain is None:
        raise InputError(f"{name} must be one of {', '.join(map(str, words))}, not {value!r}")
    limits = "" if least is None else f" of at least {least:g}"
    if most is not None:
        limits = f" of at most {most:g}" if least is None else f" between {least:g} and {most:g}"
    others = "".join(f", or {word}" for word in words)
    raise InputError(f"{name} must be {_NAMES[plain]}{limits}{others}, not {value!r}")


def _fits(value: Any, plain: Any, least: float | None, most: float | None) -> bool:
    """Whether a value is of a plain type and within the bounds; a whole number is a number, too."""
    if type(value) is not plain and not (plain is float and type(value) is int):
        return False
    if plain not in (int, float):
        return True
    return math.isfinite(value) and (least is None or value >= least) and (most is None or value <= most)
