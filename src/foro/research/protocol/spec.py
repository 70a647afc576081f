"""What one run is: a data set cut into tasks, a method with its settings, and a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from foro.research.methods.method import Settings

Tasks = int | tuple[int, ...]
"""How many tasks, or how many classes each of them has."""


@dataclass(frozen=True)
class RunSpec:
    """One run; ``overrides`` are the settings that differ from the method's own."""

    dataset: str
    tasks: Tasks
    method: str
    seed: int
    overrides: Settings = field(default_factory=dict)
    blur: float = 0.0
    imbalance: float = 1.0


def tasks_text(tasks: Tasks) -> str:
    """``25``, or ``50+25+25`` for tasks with these numbers of classes, as the command line reads it."""
    return str(tasks) if isinstance(tasks, int) else "+".join(map(str, tasks))


def json_tasks(tasks: Tasks) -> Any:
    """Tasks as JSON gives them back."""
    return tasks if isinstance(tasks, int) else list(tasks)
