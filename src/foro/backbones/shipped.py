"""Backbones that FoRo ships: each is one file in ``embedded`` with one decorated function."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from foro.backbones.checkpoint import Checkpoint
from foro.errors import BackboneError

Loader = Callable[[], Checkpoint]

_LOADERS: dict[str, Loader] = {}
_FULL_NAMES: dict[str, str] = {}


def register(name: str, full_name: str) -> Callable[[Loader], Loader]:
    """Make a function that returns a checkpoint available under a short name and under its full name."""

    def decorate(loader: Loader) -> Loader:
        for key in (name, full_name):
            if key in _LOADERS or key in _FULL_NAMES:
                raise BackboneError(f"a backbone named {key!r} is already registered")
        _LOADERS[name] = loader
        _FULL_NAMES[full_name] = name
        return loader

    return decorate


def find_registered(name: str) -> Loader | None:
    """The function registered under a short or full name."""
    _import_embedded()
    return _LOADERS.get(_FULL_NAMES.get(name, name))


def registered_names() -> list[str]:
    """Short names, in the order of registration."""
    _import_embedded()
    return list(_LOADERS)


@cache
def _import_embedded() -> None:
    package = import_module("foro.backbones.embedded")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
