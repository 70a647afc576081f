"""What a table or figure of the paper asks for, and the registry of all of them.

A study is a function that asks for runs and lays the answers out as a table. It is called twice: once with no answers,
to learn what it asks for, and again when that has been run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

import numpy as np

from foro.errors import InputError
from foro.research.methods.method import Settings, list_methods
from foro.research.protocol.record import Record
from foro.research.protocol.spec import Tasks
from foro.research.tables.table import Cell, Table
from foro.research.tables.value import Value

Kind = Literal["table", "figure"]


@dataclass(frozen=True)
class Ask:
    """The runs of one method on one stream, with some settings, for all seeds."""

    dataset: str
    tasks: Tasks
    method: str
    settings: Settings = field(default_factory=dict)


Answers = Callable[[Ask], Sequence[Record]]
"""The runs that were asked for, one for each seed; fewer, or none, if they were not run."""


@dataclass(frozen=True)
class Choice:
    """What the user wants of a study; None is what the paper has."""

    datasets: tuple[str, ...] | None = None
    tasks: tuple[Tasks, ...] | None = None
    methods: tuple[str, ...] | None = None
    values: tuple[float, ...] | None = None

    def methods_of(self, row: str, fits: Callable[[Settings], bool] = lambda _settings: True) -> list[str | None]:
        """Registered methods that stand beside a row of the paper, if their settings fit; one None if there is none."""
        names = [method.name for method in list_methods() if method.row == row and fits(method.resolve({}))]
        chosen: list[str | None] = [name for name in names if self.methods is None or name in self.methods]
        return chosen or [None]


Builder = Callable[[Choice, Answers], Table]


@dataclass(frozen=True)
class Study:
    """A table or figure of the paper.

    ``timed`` ones need runs whose seconds mean something, ``many`` says which of a choice's lists may have more than
    one entry, and one that ``varies`` a setting takes its values.
    """

    name: str
    kind: Kind
    build: Builder
    timed: bool
    many: tuple[str, ...]
    varies: bool
    summary: str

    def check(self, choice: Choice) -> None:
        """An InputError for anything in a choice that the study would pass over."""
        if choice.values and not self.varies:
            raise InputError(f"the {self.kind} {self.name} varies no setting, so it takes no values")
        for name, title in (("datasets", "data set"), ("tasks", "number of tasks")):
            if name not in self.many and len(getattr(choice, name) or ()) > 1:
                raise InputError(f"the {self.kind} {self.name} is of one {title}: make one for each")
        asked = {ask.method for ask in self.asks(choice)}
        for method in choice.methods or ():
            if method not in asked:
                some = sorted({ask.method for ask in self.asks(replace(choice, methods=None))})
                raise InputError(f"{method} has no row in the {self.kind} {self.name}; these have: {', '.join(some)}")

    def asks(self, choice: Choice) -> list[Ask]:
        """Everything it asks for."""
        asked: list[Ask] = []

        def note(ask: Ask) -> Sequence[Record]:
            asked.append(ask)
            return ()

        self.build(choice, note)
        return asked


_STUDIES: dict[str, Study] = {}


def study(
    name: str, kind: Kind, *, timed: bool = False, many: tuple[str, ...] = (), varies: bool = False
) -> Callable[[Builder], Builder]:
    """Registers a function as a table or figure."""

    def decorate(build: Builder) -> Builder:
        summary = (build.__doc__ or "").strip().partition("\n")[0].removesuffix(".")
        _STUDIES[name] = Study(name, kind, build, timed, many, varies, summary)
        return build

    return decorate


def find_study(name: str, kind: Kind) -> Study:
    """The table or figure of a name."""
    names = {each.name: each for each in list_studies() if each.kind == kind}
    if name not in names:
        raise InputError(f"there is no {kind} {name!r}; choose among {', '.join(names)}")
    return names[name]


def list_studies() -> list[Study]:
    """Every table and figure, in the paper's order."""
    _import_all()
    order = ("comparison", "ablation", "complexity", "lambda", "projection", "population", "prompts", "tasks")
    return [_STUDIES[name] for name in order]


def whole(value: float, what: str) -> int:
    """A whole number, given as a number of any kind."""
    if value != int(value):
        raise InputError(f"{what} must be a whole number, not {value:g}")
    return int(value)


def percent(records: Iterable[Record], metric: str) -> Value | None:
    """A metric in percent."""
    return Value.of([100 * record.results[metric] for record in records])


def accuracy_and_forgetting(
    records: Sequence[Record],
    paper: tuple[Value | None, Value | None],
    comparable: bool = True,
    told: str | None = None,
) -> tuple[Cell, Cell]:
    """The two quantities that most of the paper's tables have."""
    names = ("average_accuracy", "average_forgetting")
    first, second = (
        Cell(given, percent(records, name), tuple(records), comparable, told)
        for given, name in zip(paper, names, strict=True)
    )
    return first, second


def averaged(
    groups: Sequence[Sequence[Record]], paper: tuple[Value, Value], comparable: bool = True
) -> tuple[Cell, Cell]:
    """A and F averaged over streams, for the seeds that all of them were run with; nothing if one was not run."""
    by_seed = [{record.content["seed"]: record for record in group} for group in groups]
    seeds = sorted(set.intersection(*(set(group) for group in by_seed))) if by_seed else []
    used = tuple(group[seed] for group in by_seed for seed in seeds)

    def mean(name: str) -> Value | None:
        return Value.of([100 * float(np.mean([group[seed].results[name] for group in by_seed])) for seed in seeds])

    return (
        Cell(paper[0], mean("average_accuracy"), used, comparable),
        Cell(paper[1], mean("average_forgetting"), used, comparable),
    )


@cache
def _import_all() -> None:
    package = import_module("foro.research.studies")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
