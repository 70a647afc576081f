"""The Cholesky factor of a large model, beside it in ``MODEL.factor``: without it each command would factorise anew.

It only saves time. Where there is none, or one of other statistics, or a damaged one, the factor is computed instead;
so the file may be deleted at any time.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from foro.errors import ModelFileError
from foro.heads.head import Head
from foro.types import Arrays
from foro.util.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from foro.heads.ridge.solver import Solver


def offer_factor(model: Path, head: Head) -> None:
    """Has the head read the file once it needs a factor."""
    if (solver := _solver(head)) is not None:
        solver.stored = partial(_read, _path(model))


def keep_factor(model: Path, head: Head) -> None:
    """Writes the factor that the head has computed, if it has computed one."""
    solver, path = _solver(head), _path(model)
    if solver is None or not (new := solver.new_factor()):
        return
    with suppress(ModelFileError, OSError):  # the model is saved, and a full disk is no reason to say otherwise
        path.unlink(missing_ok=True)
        write_tensors(path, new, {})


def _solver(head: Head) -> Solver | None:
    from foro.heads.ridge import KnowledgeEncoder  # whoever only asks for help needs no solver

    return head.solver if isinstance(head, KnowledgeEncoder) else None


def _path(model: Path) -> Path:
    return model.with_name(f"{model.name}.factor")


def _read(path: Path) -> Arrays:
    try:
        arrays = read_tensors(path)[0]
    except ModelFileError:
        return {}
    for array in arrays.values():
        array.flags.writeable = False  # memory may let go of it
    return arrays
