"""Settings that are given once for many methods: each takes those that it has."""

from __future__ import annotations

from collections.abc import Sequence

from foro.experiments.method import Settings, find_method

FAST = {"preset": "fast"}
"""What ``--fast`` stands for; a method without presets is as fast as it gets."""


def taken(method: str, settings: Settings) -> Settings:
    """Those of the settings that the method has."""
    known = find_method(method).resolve({})
    return {name: value for name, value in settings.items() if name in known}


def check_common(methods: Sequence[str], settings: Settings) -> None:
    """An InputError for a value that is no such setting's, or for a setting that none of the methods has."""
    for name in methods:
        find_method(name).resolve({each: settings[each] for each in taken(name, settings) if not _defining(name, each)})
    for name, value in settings.items():
        if (name, value) not in FAST.items() and not any(taken(method, {name: value}) for method in methods):
            find_method(methods[0]).resolve({name: value})  # says which settings there are


def free(method: str, settings: Settings) -> Settings:
    """Those of the settings that the method has and is not defined by."""
    return {name: value for name, value in taken(method, settings).items() if not _defining(method, name)}


def _defining(method: str, name: str) -> bool:
    return name in find_method(method).fixed
