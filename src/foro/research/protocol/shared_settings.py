"""Settings that are given once for many methods: each takes those that it has; ``ft.epochs`` is for ``ft`` alone."""

from __future__ import annotations

from collections.abc import Sequence

from foro.errors import InputError
from foro.research.methods.method import Settings, find_method

FAST = {"preset": "fast"}
"""What ``--fast`` stands for; a method without presets is as fast as it gets."""


def taken(method: str, settings: Settings) -> Settings:
    """Those of the settings that are for the method: all that name it, and of the others those that it has."""
    known = find_method(method).resolve({})
    own = {name.partition(".")[2]: value for name, value in settings.items() if name.startswith(f"{method}.")}
    return {**{name: value for name, value in settings.items() if name in known}, **own}


def free(method: str, settings: Settings) -> Settings:
    """Those of the settings that are for the method and do not define it."""
    return {name: value for name, value in taken(method, settings).items() if name not in find_method(method).fixed}


def check_common(methods: Sequence[str], settings: Settings) -> None:
    """An InputError for a value that is no such setting's, or for a setting that none of the methods can take."""
    for method in methods:
        find_method(method).resolve(free(method, settings))
    for name, value in settings.items():
        owner, dot, rest = name.partition(".")
        if dot and owner not in methods:
            raise InputError(f"{name} is a setting of {owner}, which is none of {', '.join(methods)}")
        if dot or ((name, value) not in FAST.items() and not any(free(each, {name: value}) for each in methods)):
            find_method(owner if dot else methods[0]).resolve({rest or name: value})  # says what is wrong with it
