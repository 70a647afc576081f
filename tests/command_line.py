"""Runs ``foro`` as a user does, but within the test's process, which is much faster."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from foro.cli import main


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def foro(*arguments: object, stdin: str = "", terminal: bool = False) -> Ran:
    """Runs one command, whose output goes to a terminal or not."""
    out, err = _Terminal() if terminal else io.StringIO(), io.StringIO()
    words = ["foro", *(str(each) for each in arguments)]
    with (
        patch.object(sys, "argv", words),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Ran(code, out.getvalue(), err.getvalue())
