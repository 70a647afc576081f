"""Flags come from the dataclasses of settings: a setting is added in one file."""

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import pytest
import typer
from typer.testing import CliRunner

from foro.cli.app import app
from foro.cli.options import options_of, with_options_of
from foro.config import PRESETS, LearnerConfig, Preset
from foro.serve.service_config import ServeConfig
from foro.util.settings import setting


@dataclass(frozen=True)
class Oven:
    mode: Literal["bake", "grill"] = setting("bake", "What it does.")
    degrees: int = setting(180, "How hot.", env="OVEN_DEGREES")
    minutes: float | None = setting(None, "How long.")
    open_door: bool = setting(False, "Whether one can look in.")


seen: list[Any] = []
oven = typer.Typer()


@oven.command()
@with_options_of(options_of(Oven), into="settings")
def heat(food: str, settings: dict[str, Any], slowly: bool = False) -> None:
    seen.append((food, Oven(**settings), slowly))


def flags(command: str) -> str:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
    return " ".join(shown.split())


def test_learn_has_a_flag_for_each_setting_that_asks_for_one() -> None:
    shown = flags("learn")
    assert "--policy <none|freeze|evolve> Of a new model: no prompt (none)" in shown
    for each in fields(LearnerConfig):
        own = each.metadata.get("flag", False)
        assert (f"--{each.name.replace('_', '-')} <" in shown) is own
        assert not own or f"{each.metadata['help']}. [default: ({each.default})]" in shown
    assert f"--preset <{'|'.join(PRESETS)}>" in shown
    assert get_args(Preset) == tuple(PRESETS)


def test_serve_has_a_flag_for_each_setting() -> None:
    shown = flags("serve")
    for each in fields(ServeConfig):
        switch = isinstance(each.default, bool)
        assert f"--{each.name.replace('_', '-')} {'' if switch else '<'}" in shown
        assert each.metadata["help"] in shown
        assert switch or each.default is None or f"[default: {each.default}" in shown
    assert "[env var: FORO_TEACH_TOKEN]" in shown


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ([], {}),
        (["--mode", "grill", "--minutes", "1.5", "--open-door"], {"mode": "grill", "minutes": 1.5, "open_door": True}),
    ],
)
def test_a_command_gets_what_was_given(arguments: list[str], settings: dict[str, Any]) -> None:
    run = CliRunner()
    assert run.invoke(oven, ["pie", *arguments], env={"OVEN_DEGREES": "200"}).exit_code == 0
    assert seen.pop() == ("pie", Oven(degrees=200, **settings), False)
    assert run.invoke(oven, ["pie", "--mode", "fry"]).exit_code == 2
    shown = run.invoke(oven, ["--help"]).stdout
    assert shown.index("--mode") < shown.index("--open-door") < shown.index("--slowly")
