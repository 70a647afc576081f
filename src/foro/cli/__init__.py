"""The command line: one file per group of commands, no logic of its own."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Runs the command line. Ctrl-C ends it in one sentence, even while it is still being imported."""
    try:
        from foro.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("foro: interrupted\n")
        sys.exit(128 + signal.SIGINT)
