"""The one rule for labels, at every door: Python, command line, files and HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from foro.types import Label


def find_label(text: str, known: Sequence[Label]) -> Label | None:
    """The known label that is meant: the text itself or, where there is no such label, the number that it says."""
    return text if text in known else next((label for label in known if str(label) == text), None)
