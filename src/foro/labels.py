"""The one rule for labels, at every door: Python, command line, files and HTTP."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np

from foro.errors import InputError
from foro.types import Label

LONGEST = 200
_JOINERS = "\u200c\u200d"
"""Characters of no width that belong to words of some scripts, and to some emoji."""


def check_label(label: object) -> Label:
    """A label that people can read and type: an integer, or one line of text without white space around it."""
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return int(label)
    if not isinstance(label, str):
        raise InputError(f"a label must be a string or an integer, not {label!r}")
    text = unicodedata.normalize("NFC", label).strip()
    if not text:
        raise InputError("a label must not be empty")
    if len(text) > LONGEST:
        raise InputError(f"a label has at most {LONGEST} characters, not {len(text)}: {text[:20]!r}…")
    if text in (".", ".."):
        raise InputError(f"{text!r} cannot be a label: browsers take it out of addresses")
    for position, character in enumerate(text):
        if unicodedata.category(character) == "Cs":
            raise InputError(f"the label {text!r} is not valid Unicode")
        if unicodedata.category(character) in ("Cc", "Zl", "Zp"):
            raise InputError(f"the label {text!r} has a control character: a label is one line of text")
        if unicodedata.category(character) == "Cf" and not _joins(text, position):
            raise InputError(f"the label {text!r} has an invisible character: another label could look the same")
    return text


def check_labels(labels: object) -> list[Label]:
    """One label for each sample, each checked."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InputError(f"labels must be a list with one label for each sample, not {labels!r}")
    checked: dict[object, Label] = {}
    found = []
    for label in labels:
        key = (type(label), label) if isinstance(label, (str, int, np.integer)) else None
        if key is None or key not in checked:
            checked[key] = check_label(label)
        found.append(checked[key])
    return found


def check_names(known: object, forgotten: object) -> None:
    """Refuses labels of a file that could not have been learned, or that occur twice in a list."""
    for labels in (known, forgotten):
        if not isinstance(labels, list) or len({str(label) for label in check_labels(labels)}) != len(labels):
            raise InputError("a label occurs twice")


def same_labels(labels: Sequence[Label], known: Iterable[Label]) -> list[Label]:
    """The labels as they are known: ``7`` and ``"7"`` are one label, in the form that came first."""
    forms: dict[str, Label] = {}
    for label in known:
        forms.setdefault(str(label), label)
    return [forms.setdefault(str(label), label) for label in labels]


def lookalikes(new: Iterable[Label], known: Iterable[Label]) -> list[tuple[Label, Label]]:
    """New labels that look like a slip of the hand, each with the known or earlier one that may be meant.

    That is: the same but for case, accents, blanks and signs, or one letter more, less, other or exchanged. Labels
    that differ in digits are different, and so are short words.
    """
    seen: dict[str, Label] = {}
    found = []
    for label, fresh in [*((each, False) for each in known), *((each, True) for each in new)]:
        forms = _forms(str(label))
        meant = next((seen[form] for form in forms if form in seen), None) if fresh else None
        if meant is not None and re.sub(r"\D", "", str(meant)) == re.sub(r"\D", "", str(label)):
            found.append((label, meant))
        for form in forms:
            seen.setdefault(form, label)
    return found


def _forms(label: str) -> list[str]:
    """What a label has in common with one that is a letter away: itself, or what is left without one letter."""
    bare = re.sub(r"[\W_]", "", unicodedata.normalize("NFKD", label.casefold())) or label
    if len(bare) < 4:
        return [bare]
    return [bare, *(bare[:place] + bare[place + 1 :] for place in range(len(bare)))]


def find_label(text: str, known: Sequence[Label]) -> Label | None:
    """The known label that is written like this, or None."""
    return next((label for label in known if str(label) == text), None)


def find_labels(written: Sequence[str], known: Sequence[Label], unknown: str) -> list[Label]:
    """The known labels that are meant, each once.

    ``unknown`` goes between a label that is not known and the list of those that are.
    """
    return [_find(text, known, unknown) for text in dict.fromkeys(written)]


def listed(labels: Sequence[Label], most: int = 8) -> str:
    """The first labels, quoted, and how many more there are."""
    shown = ", ".join(map(repr, labels[:most])) or "none"
    return f"{shown} and {len(labels) - most} more" if len(labels) > most else shown


def _find(text: str, known: Sequence[Label], unknown: str) -> Label:
    if (label := find_label(text, known)) is not None:
        return label
    close = get_close_matches(text, [str(label) for label in known], n=3)
    shown = f"{listed(close)} and {len(known) - len(close)} more" if 0 < len(close) < len(known) else listed(known)
    raise InputError(f"{text!r} {unknown} {shown}")


def _joins(text: str, position: int) -> bool:
    """Whether the character joins two others that are not plain ASCII."""
    around = text[max(0, position - 1) : position] + text[position + 1 : position + 2]
    return text[position] in _JOINERS and len(around) == 2 and not around.isascii()
