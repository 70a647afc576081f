"""Options that several commands share, options that are made of settings, and exit codes."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from foro.config import DEFAULT_BACKBONE

Function = Callable[..., Any]

DONE, SKIPPED, MISTAKE, NOT_SAVED, INTERRUPTED = 0, 1, 2, 3, 130

EXIT_CODES = (
    "Exit codes: 0 all went well, 1 done but some images could not be read and were skipped, 2 nothing was done "
    "because something is wrong with what was given, 3 done but the model file could not be written, as on a full "
    "disk: what was learned is safe in the journal beside it and counts, 130 interrupted."
)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.", show_default=False)]
NewModel = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The model file; made if there is none.", show_default=False)
]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A folder of class folders, or a .csv, .tsv or .jsonl file with path and label."
    ),
]
BackbonePlace = Annotated[
    str | None, typer.Option("--backbone", help="Where the model's backbone is, if not where it was.")
]
NewBackbone = Annotated[
    str | None,
    typer.Option(
        "--backbone",
        help="Of a new model: nano, a full timm name or a folder with a checkpoint. Of one that is there: where its "
        "backbone is, if not where it was.",
        show_default=DEFAULT_BACKBONE,
    ),
]
Portable = Annotated[
    bool,
    typer.Option(
        "--portable",
        help="Write the matrix of the random projection too, not only its seed: some MB, for a computer whose NumPy "
        "draws other numbers.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Stop at the first image that cannot be read, instead of skipping it.")
]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait while another process changes the model, or give up at once.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]


def with_options_of(provider: Function, into: str | None = None) -> Callable[[Function], Function]:
    """A command that also has the options of ``provider``, and gets what that returns as one of its arguments.

    ``into`` names the argument, in whose place the options are listed; by default it is the first, and they come last.
    The annotations of options must be objects, not text, so neither module may postpone them: a command line is built
    from them.
    """
    shared = [*signature(provider).parameters.values()]

    def decorate(command: Function) -> Function:
        own = [*signature(command).parameters.values()]
        filled = next(number for number, each in enumerate(own) if into in (None, each.name))

        @wraps(command)
        def called(**given: Any) -> Any:
            provided = provider(**{each.name: given.pop(each.name) for each in shared})
            return command(**{own[filled].name: provided}, **given)

        before, after = own[:filled], own[filled + 1 :]
        every = [*before, *shared, *after] if into else [*after, *shared]
        every = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in every]
        called.__signature__ = Signature(every)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in every}
        return called

    return decorate


def chosen_engine(
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Work in this process, or on a Ray cluster (extra ray).")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="Ray cluster, such as auto or HOST:PORT; default: one is started on this machine."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers on the Ray cluster; default: one for every four processors.")
    ] = None,
    gpus_per_worker: Annotated[
        float | None, typer.Option(min=0.0, help="GPUs of each worker, or a share of one; needs the torch extra.")
    ] = None,
) -> Any:
    """The engine of these options; None: this process. For ``with_options_of``."""
    from foro.engine import find_engine

    return find_engine(engine, address=address, workers=workers, gpus_per_worker=gpus_per_worker)


def options_of(settings: type[Any], of_new_model: bool = False) -> Function:
    """An option for each field of a dataclass of settings, and what the user gave, by name; for ``with_options_of``.

    Type, choices, default and help are those of the field, and so is an environment variable, ``env``. Settings of a
    new model are optional, because they mean nothing for one that is there, and only those with a ``flag`` have one:
    the others are for ``--set``.
    """
    parameters, types = [], get_type_hints(settings)
    for each in fields(settings):
        about, kind, default = each.metadata, types[each.name], each.default
        more: dict[str, Any] = {"help": about["help"], "envvar": about.get("env"), "show_envvar": True}
        if of_new_model:
            if not about.get("flag"):
                continue
            more |= {"help": f"Of a new model: {about['help']}.", "show_default": str(default)}
            kind, default = kind | None, None
        option = Annotated[kind, typer.Option(**more)]  # type: ignore[valid-type]
        parameters.append(Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=option))

    def given(**values: Any) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value is not None}

    given.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return given
