"""Everything that commands print: text from outside can neither give orders to a terminal nor break a line."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import unicodedata
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import typer

QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
"""Whether only results and errors are printed."""

_JOINERS = "\u200c\u200d"
"""Characters of no width that belong to words of some scripts, and to some emoji."""


def plain(text: object) -> str:
    """Text on one line; what a terminal would obey, or not show, is written as in Python: ``\\x1b``, ``\\n``."""
    shown = str(text)
    return shown if shown.isprintable() else "".join(map(_visible, shown))


def say(*cells: object) -> None:
    """A line of the result, on standard output; several cells have tabs between them."""
    typer.echo("\t".join(map(plain, cells)))


def say_answer(before: str, answer: str, after: str) -> None:
    """A line of the result for people, in which the answer stands out."""
    typer.echo(plain(before) + typer.style(plain(answer), bold=True) + plain(after))


def say_row(cells: Sequence[object]) -> None:
    """A line of a CSV table; every character of a cell stays, but on a terminal."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(map(plain, cells) if sys.stdout.isatty() else cells)
    typer.echo(text.getvalue())


def say_json(content: Any) -> None:
    """A result as JSON on one line; a number that is none is null."""
    text = json.dumps(_finite(content), ensure_ascii=False, allow_nan=False)
    typer.echo(text if text.isprintable() else re.sub(r"[^ -~]", lambda each: _escaped(each[0]), text))


def report(line: str) -> None:
    """A line on what a command did, which ``--quiet`` leaves out."""
    if not QUIET.get():
        say(line)


def tell(sentence: str, below: Sequence[str] = ()) -> None:
    """A sentence beside the result, on standard error, which ``--quiet`` leaves out; lines may follow it."""
    if not QUIET.get():
        complain(sentence)
        for line in below:
            typer.echo(f"  {plain(line)}", err=True)


def complain(sentence: str) -> None:
    """A sentence on standard error that is always printed."""
    typer.echo(f"foro: {plain(sentence)}", err=True)


def named(labels: Sequence[object], most: int = 8) -> str:
    """The first of the labels, and how many more."""
    shown = ", ".join(str(label) for label in labels[:most])
    return f"{shown} and {len(labels) - most} more" if len(labels) > most else shown


def duration(seconds: float) -> str:
    """``42 s``, ``7 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def rate(speed: float) -> str:
    """``123 images a second``, ``0.036 images a second``."""
    return f"{speed:.0f} images a second" if speed >= 10 else f"{speed:.2g} images a second"


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def _escaped(character: str) -> str:
    """A character within JSON."""
    return character if _visible(character) == character else json.dumps(character)[1:-1]


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(each) for each in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
