"""``foro serve``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from foro.cli.options import NewBackbone, NewModel, options_of, with_options_of
from foro.cli.terminal import say
from foro.config import DEFAULT_BACKBONE
from foro.errors import FoRoError, InputError, counted
from foro.serve.service_config import ServeConfig

if TYPE_CHECKING:
    from foro.learner import Learner
    from foro.serve.work.service import Service


@with_options_of(options_of(ServeConfig), into="settings")
def serve(
    model: NewModel,
    settings: dict[str, Any],
    read_token_file: Annotated[
        Path | None, typer.Option(envvar="FORO_READ_TOKEN_FILE", help="File with the read token.")
    ] = None,
    teach_token_file: Annotated[
        Path | None, typer.Option(envvar="FORO_TEACH_TOKEN_FILE", help="File with the teach token.")
    ] = None,
    backbone: NewBackbone = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="What is logged, as JSON on standard error.")
    ] = "info",
) -> None:
    """Serve a model over HTTP, with a page to try and teach it. Ctrl-C saves and stops.

    Tokens are better given by the environment or by files than as options, which every user of the machine can see.

    Examples:

        foro serve pets.foro

        FORO_TEACH_TOKEN=… FORO_READ_TOKEN=… foro serve pets.foro --host 0.0.0.0

        curl -F images=@cat.jpg http://127.0.0.1:8000/v1/predict
    """
    files = {"read_token": read_token_file, "teach_token": teach_token_file}
    tokens = {name: _token(name, settings.get(name), file) for name, file in files.items()}
    config = ServeConfig(**{**settings, **tokens})
    try:
        from foro.serve.http.server import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("foro"):
            raise
        raise FoRoError(f'the service needs {error.name}: install it with pip install "foro[serve]"') from None
    run(model, config, lambda: _new(backbone or DEFAULT_BACKBONE), _say, backbone=backbone, log_level=log_level)


def _new(backbone: str) -> "Learner":
    """A learner for a model file that is not there yet."""
    from foro.learner import Learner

    return Learner(backbone)


def _say(address: str, service: "Service") -> None:
    known = counted(len(service.published.labels), "class", "classes")
    say(f"{service.name} ({known}) is at {address}  (Ctrl-C saves and stops)")


def _token(name: str, given: str | None, file: Path | None) -> str | None:
    """A token as given, or from the file; an empty one is none."""
    kind = name.replace("_", " ")
    if file is None:
        return given or None
    if given:
        raise InputError(f"the {kind} is given twice: as it is, and as a file")
    try:
        return file.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the {kind} cannot be read from {file}: {error}") from None
