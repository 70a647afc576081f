"""``foro serve`` as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foro.learner import Learner
from tests.backbones.reference import save_checkpoint, tiny_checkpoint

CODE = "from foro.cli import main; main()"


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", CODE, "serve", *map(str, arguments)]


def environment(**variables: str) -> dict[str, str]:
    """This process's own, without tokens but those that are given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FORO_")}
    return {**kept, "OMP_NUM_THREADS": "1", **variables}


def make_model(folder: Path) -> Path:
    """A model file that knows nothing, with a backbone beside it that another process can load."""
    backbone = save_checkpoint(tiny_checkpoint(), folder / "backbone")
    Learner(backbone, policy="none", projection_dim=32).save(folder / "model.foro")
    return folder / "model.foro"


@contextmanager
def started(model: Path, *options: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address, once it says that it listens; killed at the end, if it still runs."""
    with subprocess.Popen(
        command(model, "--port", "0", "--rate", "0", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**variables),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        try:
            assert " is at http://" in line, process.stderr.read()
            yield process, line.split(" is at ")[1].split("/ ")[0]
        finally:
            process.kill()
