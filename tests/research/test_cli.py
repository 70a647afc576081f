"""``foro experiment`` as a user runs it, on a tiny backbone and a few digits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foro.cli.app import app
from foro.cli.experiment import listed, task_sizes
from foro.config import parse_settings
from foro.errors import InputError
from foro.research.studies.all_studies import STUDIES


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def usual(tiny_folder: Path, tmp_path: Path) -> list[Any]:
    """Options that make every command quick."""
    small = ["projection_dim=64", "generations=2", "population=4", "search_images=16", "online_batch=8"]
    data = ["--backbone", tiny_folder, "--train-per-class", 8, "--test-per-class", 4, "--out", tmp_path / "runs"]
    return [*data, *(word for setting in small for word in ("--set", setting))]


def test_run_table_figure_and_report(usual: list[Any], tmp_path: Path) -> None:
    streams = ["--dataset", "digits", "--tasks", "2,5", "--methods", "kem,foro-paper", "--seeds", "0,1"]
    shown = json.loads(run("run", *streams, *usual, "--json"))
    assert [(group["tasks"], group["method"], group["seeds"]) for group in shown] == [
        (2, "kem", [0, 1]),
        (2, "foro-paper", [0, 1]),
        (5, "kem", [0, 1]),
        (5, "foro-paper", [0, 1]),
    ]
    files = sorted((tmp_path / "runs").glob("*.json"))
    assert len(files) == 8
    assert sorted(file for group in shown for file in group["files"]) == [str(file) for file in files]
    before = [file.stat().st_mtime_ns for file in files]

    text = run("run", *streams, *usual)
    assert "results are in" in text
    assert [file.stat().st_mtime_ns for file in files] == before  # all of it was there

    table = run("table", "comparison", *streams, *usual)
    assert table.startswith("### Table 1: comparison of methods")
    assert (tmp_path / "runs" / "tables" / "comparison.png").exists()
    cells = json.loads(run("figure", "tasks", *streams, *usual, "--no-run", "--name", "mine", "--json"))
    assert [Path(file).name for file in cells["files"]] == ["mine.md", "mine.csv", "mine.png"]
    assert {cell["method"] for cell in cells["cells"] if cell["ours"] is not None} == {"kem", "foro-paper"}

    made = json.loads(run("report", "--out", tmp_path / "runs", "--json"))
    assert made == {"report": str(tmp_path / "runs" / "report.html"), "runs": 8}
    assert Path(made["report"]).read_text().startswith("<!doctype html>")


def test_the_command_in_a_result_repeats_it(usual: list[Any], tmp_path: Path) -> None:
    import shlex

    run("run", "--dataset", "digits", "--tasks", "4+3+3", "--methods", "kem", "--blur", 0.25, "--no-cache", *usual)
    (file,) = (tmp_path / "runs").glob("*.json")
    first = json.loads(file.read_text())
    assert first["stream"]["tasks"] == [4, 3, 3]
    run(*shlex.split(first["command"])[2:], "--out", tmp_path / "again")
    (again,) = (tmp_path / "again").glob("*.json")
    assert again.name == file.name
    assert json.loads(again.read_text())["accuracy"] == first["accuracy"]


def test_list_and_help() -> None:
    shown = json.loads(run("list", "--json"))
    assert {"foro", "foro-paper", "kem", "fitness"} <= shown["methods"].keys()
    assert "cifar100" in shown["datasets"]
    assert shown["studies"]["lambda"] == "Table 4: weight of the activation discrepancy"
    assert "foro-paper" in run("list")
    settings = json.loads(run("list", "kem", "--json"))
    assert settings["projection_dim"] == {
        "default": 8192,
        "help": "M, width of the random projection; None: no projection",
    }
    assert "policy" not in settings  # it makes kem what it is
    assert "distillation" in run("list", "lwf")
    for command in ("run", "table", "figure", "report", "list"):
        assert f"foro experiment {command}" in run(command, "--help")
    for study in STUDIES:
        assert f"{study.number}: {study.title}" in run(study.kind, "--help")


def test_a_mistake_is_one_line(tiny_folder: Path, tmp_path: Path) -> None:
    code = "from foro.cli import main; main()"
    command = ["experiment", "run", "--dataset", "digits", "--methods", "fro", "--out", str(tmp_path)]
    shown = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    assert shown.returncode == 2
    assert shown.stderr == "foro: there is no method 'fro'; did you mean foro?\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["run", "--dataset", "digits", "--seeds", "-1"], "a seed must be a whole number that is not negative, not -1"),
        (["table", "lambda", "--methods", "kem"], "kem has no row in the table lambda"),
        (["table", "comparison", "--values", "1"], "the table comparison varies no setting"),
        (["figure", "lambda"], "there is no figure 'lambda'; choose among population, prompts, tasks"),
    ],
)
def test_what_would_be_passed_over_is_refused(given: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(*given)


def test_ctrl_c_says_so_and_the_same_command_goes_on(usual: list[Any], tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from foro.cli import main; main()"
    command = ["experiment", "run", "--dataset", "digits", "--tasks", "5", "--methods", "kem", *map(str, usual)]
    process = subprocess.Popen([sys.executable, "-c", code, *command], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "runs").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    if process.returncode == 130:  # else it was quicker
        assert said == "foro: interrupted\n"
    subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True)
    assert len(list((tmp_path / "runs").glob("*.json"))) == 1


def test_what_is_written_on_the_command_line() -> None:
    assert listed("a, b,,a", "methods", str) == ("a", "b")
    assert listed("5,50+25+25", "tasks", task_sizes) == (5, (50, 25, 25))
    assert listed("0.1,2", "values", float) == (0.1, 2.0)
    given = ["population=4", "regularisation=auto", "online=True", "projection_dim=None", "discrepancy_weight=1e-1"]
    assert parse_settings(given) == {
        "population": 4,
        "regularisation": "auto",
        "online": True,
        "projection_dim": None,
        "discrepancy_weight": 0.1,
    }
    with pytest.raises(InputError, match="a setting is written name=value, not 'population'"):
        parse_settings(["population"])
    with pytest.raises(InputError, match="seeds must be whole numbers with commas between them, not '0,x'"):
        listed("0,x", "seeds", int)
    with pytest.raises(InputError, match="values must be numbers"):
        listed("one", "values", float)
    with pytest.raises(InputError, match="methods must be at least one, not ','"):
        listed(",", "methods", str)
