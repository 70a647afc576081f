"""Options that belong together, written once for all commands that have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

Function = Callable[..., Any]


def with_options_of(provider: Function) -> Callable[[Function], Function]:
    """A command that also has the options of ``provider``, and gets what that returns as its first argument.

    The annotations of options must be objects, not text, so neither module may postpone them: a command line is
    built from them.
    """
    shared = [*signature(provider).parameters.values()]

    def decorate(command: Function) -> Function:
        own = [*signature(command).parameters.values()][1:]

        @wraps(command)
        def called(**given: Any) -> Any:
            provided = provider(**{each.name: given.pop(each.name) for each in shared})
            return command(provided, **given)

        every = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own, *shared)]
        called.__signature__ = Signature(every)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in every}
        return called

    return decorate
