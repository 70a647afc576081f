"""Labels as clients give them."""

from __future__ import annotations

import unicodedata

from foro.serve.http.problems import Problem

LONGEST = 200


def check_label(text: object) -> str:
    """A label that people can read, type and put into an address; white space around it does not count."""
    if not isinstance(text, str):
        raise _refused("a label is needed, as text")
    label = unicodedata.normalize("NFC", text).strip()
    if not label:
        raise _refused("a label is needed: it must not be empty")
    if len(label) > LONGEST:
        raise _refused(f"a label has {LONGEST} characters at most")
    if any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in label):
        raise _refused("a label must be one line of text, without control characters")
    if label in (".", ".."):
        raise _refused("a dot is no label: browsers take it out of addresses")
    return label


def _refused(detail: str) -> Problem:
    return Problem(422, "bad-label", detail)
