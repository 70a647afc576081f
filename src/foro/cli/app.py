"""The ``foro`` command: its groups of commands, its warnings and its exit codes."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import foro
from foro.cli.options import EXIT_CODES, INTERRUPTED, MISTAKE, NOT_SAVED
from foro.cli.terminal import QUIET, complain, say, tell
from foro.errors import FoRoError, FoRoWarning, InputError, NotSavedError, did_you_mean
from foro.util.progress import without_bars
from foro.util.threads import set_environment

COMMANDS = {
    "Teach a model": ["learn", "unlearn", "forget", "rename", "merge", "undo"],
    "Use it": ["predict", "evaluate", "compare", "review", "info", "export", "serve"],
    "More": ["backbone", "demo", "experiment"],
}
"""Every command by its purpose. Its file has its name, with a function of that name or, for a group, ``app``."""

NAMES = [name for names in COMMANDS.values() for name in names]
LONGEST = 200
"""Characters of a command's first sentence: all of it is shown."""


class LazyGroup(TyperGroup):
    """Imports the file of a command when that is used: no command waits for the imports of others."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, in the order of the help."""
        return NAMES

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        if cmd_name not in NAMES:
            if ctx.resilient_parsing:  # a shell completes what is being typed
                return None
            known = did_you_mean(cmd_name, NAMES) or "; foro --help lists all"
            raise InputError(f"there is no command {cmd_name!r}{known}")
        module = import_module(f"foro.cli.{cmd_name}")
        if hasattr(module, "app"):
            command: Any = get_command(module.app)
            command.name = cmd_name
        else:
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(cmd_name)(getattr(module, cmd_name))
            command = get_command(single)
        quiet = typer.Typer(add_completion=False)
        quiet.command()(_quiet)
        for each in (command, *getattr(command, "commands", {}).values()):
            each.help = _with_examples(each.help or "")
            if not hasattr(each, "commands"):
                each.params += get_command(quiet).params
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands by their purpose."""
        width = max(map(len, NAMES))
        for purpose, names in COMMANDS.items():
            with formatter.section(purpose):
                helps = [self.get_command(ctx, name).get_short_help_str(LONGEST) for name in names]
                formatter.write_dl([(name.ljust(width), text) for name, text in zip(names, helps, strict=True)])


app = typer.Typer(
    name="foro",
    cls=LazyGroup,
    help="Forward-only continual learning: an image classifier that keeps learning and does not forget.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich alone would take longer to import than everything else
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _with_examples(text: str) -> str:
    """A help text whose examples are shown line by line as they are written."""
    before, heading, after = text.partition("Examples:\n\n")
    if not heading:
        return text
    lines = [line for line in after.splitlines() if line.strip()]
    return f"{before}{heading}\b\n" + "\n".join(lines)  # click rewraps no paragraph that starts with \b


def _be_quiet(ctx: typer.Context, quiet: bool) -> None:
    QUIET.set(quiet)
    if quiet:
        ctx.with_resource(without_bars())


def _quiet(
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=_be_quiet,
            expose_value=False,
            help="Print results and errors only: no progress, no report of what was done, no notes.",
        ),
    ] = False,
) -> None:
    """Has the option that every command has."""


def _version(shown: bool) -> None:
    if shown:
        say(f"foro {foro.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Runs the command line, which ends with one of the ``EXIT_CODES``."""
    set_environment()
    try:
        with warnings.catch_warnings():
            # Warnings of libraries about odd images are not for the user; ours are a sentence, without a line of code.
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", FoRoWarning)
            warnings.showwarning = lambda message, *_: tell(str(message))
            app()
    except FoRoError as error:
        complain(str(error))
        sys.exit(NOT_SAVED if isinstance(error, NotSavedError) else MISTAKE)
    except (KeyboardInterrupt, SystemExit) as end:
        # Click turns Ctrl-C into an exit without a message.
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        complain("interrupted")
        sys.exit(INTERRUPTED)
