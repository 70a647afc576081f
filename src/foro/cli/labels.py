"""Labels as they are written on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from foro.errors import InputError
from foro.labels import find_label
from foro.types import Label


def find_labels(written: Sequence[str], known: Sequence[Label], unknown: str) -> list[Label]:
    """The known labels that are meant, each once.

    ``unknown`` goes between a label that is not known and the list of those that are.
    """
    return [_find(text, known, unknown) for text in dict.fromkeys(written)]


def _find(text: str, known: Sequence[Label], unknown: str) -> Label:
    if (label := find_label(text, known)) is not None:
        return label
    names = [str(label) for label in known]
    listed = get_close_matches(text, names, n=3) or names[:8]
    more = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
    raise InputError(f"{text!r} {unknown} {', '.join(map(repr, listed)) or 'none'}{more}")
