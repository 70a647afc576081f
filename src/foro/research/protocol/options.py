"""What is written on the command line of an experiment, as values."""

from __future__ import annotations

from typing import TypeVar

from foro.errors import InputError
from foro.research.protocol.spec import Tasks

T = TypeVar("T")


def words(text: str) -> tuple[str, ...]:
    """``a,b`` as two words."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def integers(text: str, what: str) -> tuple[int, ...]:
    """``0,1,2`` as numbers."""
    return tuple(_integer(word, what) for word in words(text))


def numbers(text: str, what: str) -> tuple[float, ...]:
    """``0.1,0.3`` as numbers."""
    try:
        return tuple(float(word) for word in words(text))
    except ValueError:
        raise InputError(f"{what} must be numbers with commas between them, not {text!r}") from None


def task_lists(text: str) -> tuple[Tasks, ...]:
    """``5,25`` as numbers of tasks; ``50+25+25`` is one stream of tasks of that many classes."""
    return tuple(
        tuple(_integer(part, "tasks") for part in word.split("+")) if "+" in word else _integer(word, "tasks")
        for word in words(text)
    )


def _integer(word: str, what: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise InputError(f"{what} must be whole numbers, not {word!r}") from None
