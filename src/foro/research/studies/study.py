"""What a table or figure of the paper is: which runs it requests, and how they are laid out.

A layout is a function that requests runs and puts them into rows. It is called twice: first without any runs, to learn
which ones it requests, and again when they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from foro.errors import InputError
from foro.research.methods.method import Settings
from foro.research.protocol.method_catalog import list_methods
from foro.research.protocol.record import Record
from foro.research.protocol.spec import Tasks
from foro.research.studies.table import Section, Table

Kind = Literal["table", "figure"]


@dataclass(frozen=True)
class Request:
    """The runs of one method on one stream, with some settings, for all seeds."""

    dataset: str
    tasks: Tasks
    method: str
    settings: Settings = field(default_factory=dict)
    blur: float = 0.0
    imbalance: float = 1.0


Lookup = Callable[[Request], Sequence[Record]]
"""The runs that are requested, one for each seed; fewer, or none, if they were not run."""


@dataclass(frozen=True)
class Choice:
    """What the user wants of a study; None is what the paper has."""

    datasets: tuple[str, ...] | None = None
    tasks: tuple[Tasks, ...] | None = None
    methods: tuple[str, ...] | None = None
    values: tuple[float, ...] | None = None

    def methods_of(self, row: str, fits: Callable[[Settings], bool] = lambda _settings: True) -> list[str | None]:
        """Registered methods for a row of the paper whose settings fit; one None if there is none."""
        names = [method.name for method in list_methods() if method.row == row and fits(method.resolve({}))]
        chosen: list[str | None] = [name for name in names if self.methods is None or name in self.methods]
        return chosen or [None]


Layout = Callable[[Choice, Lookup], tuple[Iterable[Section], Iterable[str]]]
"""The sections of a table, and the notes below it."""


@dataclass(frozen=True)
class Study:
    """A table or figure of the paper.

    ``many`` says which of a choice's lists may have more than one entry. A study that ``varies`` a setting takes its
    values. A ``timed`` one needs runs that were timed without the feature cache, each in a process of its own.
    """

    name: str
    number: str  # in the paper: Table 1, Figure 3(a)
    title: str
    row_title: str
    layout: Layout
    many: tuple[str, ...] = ()
    varies: bool = False
    timed: bool = False
    axis: str | None = None  # title of a figure's x axis; None: it is a table

    @property
    def kind(self) -> Kind:
        """Whether the paper shows it as a table or as a figure."""
        return "figure" if self.axis else "table"

    def build(self, choice: Choice, lookup: Lookup) -> Table:
        """The table of the runs that are there."""
        sections, notes = self.layout(choice, lookup)
        names = (self.name, self.number, self.title, self.row_title)
        return Table(*names, tuple(sections), tuple(notes), self.axis)

    def check(self, choice: Choice) -> None:
        """Raises an InputError for anything in a choice that the study would ignore."""
        if choice.values and not self.varies:
            raise InputError(f"the {self.kind} {self.name} varies no setting, so it takes no values")
        for name, title in (("datasets", "data set"), ("tasks", "number of tasks")):
            if name not in self.many and len(getattr(choice, name) or ()) > 1:
                raise InputError(f"the {self.kind} {self.name} is of one {title}: make one for each")
        requested = {request.method for request in self.requests(choice)}
        for method in choice.methods or ():
            if method not in requested:
                some = sorted({request.method for request in self.requests(replace(choice, methods=None))})
                raise InputError(f"{method} has no row in the {self.kind} {self.name}; these have: {', '.join(some)}")

    def requests(self, choice: Choice) -> list[Request]:
        """All runs that it requests."""
        requested: list[Request] = []

        def note(request: Request) -> Sequence[Record]:
            requested.append(request)
            return ()

        self.build(choice, note)
        return requested
