from __future__ import annotations

import subprocess
import sys

import pytest

import foro
from tests.command_line import foro as command


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from foro.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_version_and_help() -> None:
    assert run("--version").stdout == f"foro {foro.__version__}\n"
    shown = run("--help")
    assert shown.returncode == 0
    assert "demo" in shown.stdout
    assert "foro demo --seed 1" in run("demo", "--help").stdout


def test_a_users_mistake_is_one_line_and_exit_code_2() -> None:
    wrong = run("dance")
    assert wrong.returncode == 2
    assert wrong.stderr == "foro: there is no command 'dance'; foro --help lists all\n"


def test_an_interrupt_while_it_starts_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("foro.cli.app.set_environment", interrupted)  # before anything else
    ran = command("--version")
    assert (ran.code, ran.out, ran.err) == (130, "", "foro: interrupted\n")
