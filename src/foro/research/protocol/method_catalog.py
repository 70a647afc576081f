"""Methods by name, and which of the settings that are given once for many methods each of them takes."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from foro.errors import InputError
from foro.research import baselines, methods
from foro.research.methods.method import METHODS, Method, Settings

FAST = {"preset": "fast"}
"""What ``--fast`` stands for; methods without presets ignore it."""


def find_method(name: str) -> type[Method]:
    """The method of a name."""
    _import_all()
    if name not in METHODS:
        close = get_close_matches(name, list(METHODS), n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose among {', '.join(sorted(METHODS))}"
        raise InputError(f"there is no method {name!r}; {hint}")
    return METHODS[name]


def list_methods() -> list[type[Method]]:
    """Every registered method, by name."""
    _import_all()
    return [METHODS[name] for name in sorted(METHODS)]


def taken(method: str, settings: Settings) -> Settings:
    """The settings that apply to a method: those that it has, and those that name it (``ft.epochs`` is for ``ft``)."""
    known = find_method(method).resolve({})
    own = {name.partition(".")[2]: value for name, value in settings.items() if name.startswith(f"{method}.")}
    return {**{name: value for name, value in settings.items() if name in known}, **own}


def overrides_for(method: str, settings: Settings) -> Settings:
    """The settings that apply to a method and can be overridden, because they do not define it."""
    return {name: value for name, value in taken(method, settings).items() if name not in find_method(method).fixed}


def check_shared(methods: Sequence[str], settings: Settings) -> None:
    """Raises an InputError for a value that a method refuses, and for a setting that no method can take."""
    for method in methods:
        find_method(method).resolve(overrides_for(method, settings))
    for name, value in settings.items():
        owner, dot, rest = name.partition(".")
        if dot and owner not in methods:
            raise InputError(f"{name} is a setting of {owner}, which is none of {', '.join(methods)}")
        usable = (name, value) in FAST.items() or any(overrides_for(each, {name: value}) for each in methods)
        if dot or not usable:
            find_method(owner if dot else methods[0]).resolve({rest or name: value})  # raises what is wrong with it


@cache
def _import_all() -> None:
    for package in (methods, baselines):
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
