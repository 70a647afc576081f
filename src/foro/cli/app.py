"""The ``foro`` command: its groups, and how it ends when something is wrong."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import foro
from foro.cli import demo, experiment
from foro.errors import FoRoError

app = typer.Typer(
    name="foro",
    help="Forward-only continual learning: an image classifier that keeps learning and does not forget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"foro {foro.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command("demo")(demo.demo)
app.add_typer(experiment.app, name="experiment")


def main() -> None:
    """Runs the command line: 0 when all went well, 2 for a user's mistake, 130 for Ctrl-C."""
    try:
        app()
    except FoRoError as error:
        typer.echo(f"foro: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("foro: interrupted", err=True)
        sys.exit(130)
