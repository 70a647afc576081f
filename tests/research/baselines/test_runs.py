"""Baselines under the experiments' own commands: resumed after an interruption, and the fast preset shown as such."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foro.cli.app import app
from foro.errors import InputError
from foro.research.protocol.experiment_setup import DataOptions, Setup
from foro.research.protocol.method_catalog import check_shared, overrides_for
from foro.research.protocol.run_groups import grouped, titles
from foro.research.protocol.runner import WORK, Runner
from foro.research.protocol.spec import RunSpec
from tests.research.results import without_times

pytestmark = pytest.mark.torch

QUICK = {"epochs": 1, "batch_size": 8, "learning_rate": 0.01, "crop_area": 1.0, "flip": False}
SMALL_GENERATOR = {
    "generator_epochs": 1,
    "generator_size": 8,
    "generator_channels": "8",
    "generator_layers": 1,
    "sampling_steps": 1,
}


@pytest.mark.parametrize("method", ["ft", "lwf", "l2p", "dsg"])
def test_goes_on_after_an_interruption(method: str, tiny_folder: Path, tmp_path: Path) -> None:
    setup = Setup(str(tiny_folder), data=DataOptions(train_per_class=4, test_per_class=2))
    settings = {**QUICK, **(SMALL_GENERATOR if method == "dsg" else {})}
    spec = RunSpec("digits", 5, method, 1, settings)
    whole = Runner(setup, tmp_path / "whole").run(spec)
    tasks: list[int] = []

    def interrupt(more: int) -> None:
        tasks.append(more)
        if sum(tasks) == 2:
            raise KeyboardInterrupt

    runner = Runner(setup, tmp_path / "parts", save_ratio=0)
    with pytest.raises(KeyboardInterrupt):
        runner.run(spec, advance=interrupt)
    assert list((tmp_path / "parts" / WORK).glob("*/model-2"))
    learned: list[int] = []
    parts = runner.run(spec, advance=learned.append)
    assert learned == [2, 1, 1, 1]
    assert whole is not None
    assert parts is not None
    assert without_times(parts.content) == without_times(whole.content)
    assert whole.passes_per_sample("backward") >= 1.0
    assert whole.passes_per_sample() >= whole.passes_per_sample("backward")


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_fast_is_shown_beside_every_result_that_was_made_with_it(tiny_folder: Path, tmp_path: Path) -> None:
    usual = ["--backbone", tiny_folder, "--dataset", "digits", "--tasks", 2, "--methods", "kem,ft", "--seeds", 0]
    usual += ["--train-per-class", 4, "--test-per-class", 2, "--out", tmp_path, "--set", "projection_dim=32"]
    shown = json.loads(run("run", *usual, "--fast", "--set", "epochs=1", "--json"))
    overrides = {group["method"]: group["overrides"] for group in shown}
    assert overrides == {"kem": {"projection_dim": 32}, "ft": {"preset": "fast", "epochs": 1}}
    table = run("table", "comparison", *usual, "--fast", "--set", "epochs=1")
    assert "| FT <sup>a</sup> | `ft (fast)` |" in table
    assert "fast preset: batch_size = 32, learning_rate = 0.05, crop_area = 0.5; epochs = 1; seed 0." in table
    assert "| KEM <sup>b</sup> | `kem` |" in table
    report = tmp_path / "report.html"
    run("report", "--out", tmp_path, "--report", report)
    assert "ft (fast preset" in report.read_text()
    (record,) = [json.loads(path.read_text()) for path in tmp_path.glob("*-ft-*.json")]
    assert "--set preset=fast --set projection_dim" not in record["command"]
    assert "--set preset=fast --set epochs=1" in record["command"]
    assert record["settings"]["batch_size"] == 32


def test_a_setting_is_for_the_methods_that_have_it() -> None:
    check_shared(["kem", "ft"], {"projection_dim": 32, "epochs": 2, "preset": "fast"})
    check_shared(["kem"], {"preset": "fast"})  # as fast as it gets
    with pytest.raises(InputError, match="unknown setting 'epoch'"):
        check_shared(["kem", "ft"], {"epoch": 2})
    with pytest.raises(InputError, match="ft has no setting 'population'"):
        check_shared(["ft", "lwf"], {"population": 2})
    with pytest.raises(InputError, match="epochs must be a whole number of at least 1, not 'many'"):
        check_shared(["kem", "ft"], {"epochs": "many"})


def test_a_setting_may_be_for_one_method_alone() -> None:
    settings = {"epochs": 2, "ft.epochs": 3, "kem.projection_dim": 64}
    check_shared(["kem", "ft", "lwf"], settings)
    assert [dict(overrides_for(name, settings)) for name in ("kem", "ft", "lwf")] == [
        {"projection_dim": 64},
        {"epochs": 3},
        {"epochs": 2},
    ]
    with pytest.raises(InputError, match=r"ft\.epochs is a setting of ft, which is none of kem"):
        check_shared(["kem"], {"ft.epochs": 3})
    with pytest.raises(InputError, match="ft has no setting 'epoch'"):
        check_shared(["kem", "ft"], {"ft.epoch": 3})
    with pytest.raises(InputError, match="kem is defined by policy = none"):
        check_shared(["kem"], {"policy": "evolve"})
    check_shared(["kem", "foro"], {"policy": "none"})  # foro can take it


def test_titles_name_the_preset(tiny_folder: Path, tmp_path: Path) -> None:
    setup = Setup(str(tiny_folder), data=DataOptions(train_per_class=2, test_per_class=1))
    specs = [
        RunSpec("digits", 2, "kem", 0, {"projection_dim": 16}),
        RunSpec("digits", 2, "ft", 0, {"preset": "fast"}),
        RunSpec("digits", 2, "ft", 0, {"epochs": 1}),
    ]
    records = [record for spec in specs if (record := Runner(setup, tmp_path).run(spec))]
    assert titles(grouped(records)) == (["kem (projection_dim = 16)", "ft (fast preset)", "ft (epochs = 1)"], "")
