"""Other libraries' errors as part of one sentence."""

from __future__ import annotations


def first_line(error: Exception) -> str:
    """What an error says first, or its name where it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
