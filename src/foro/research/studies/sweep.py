"""Layouts that vary one thing, a setting of FoRo or the number of tasks: its values down, the metrics across."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foro.errors import InputError
from foro.research.methods.method import Settings
from foro.research.protocol.run_groups import Mean, percent
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Choice, Lookup, Request
from foro.research.studies.table import METRICS, Cell, Column, Row, Section, accuracy_and_forgetting


@dataclass(frozen=True)
class Sweep:
    """One setting, its values, and what the paper states for FoRo with them on one stream."""

    symbol: str
    setting: str
    values: Sequence[float]
    dataset: str
    tasks: int
    known: Mapping[float, tuple[Mean, Mean | None]]
    note: str
    rows: tuple[str, ...] = ("FoRo",)
    matters: Callable[[Settings], bool] = lambda _settings: True  # whether the setting has an effect with the others

    def __call__(self, choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
        """The layout."""
        dataset, tasks = (choice.datasets or (self.dataset,))[0], (choice.tasks or (self.tasks,))[0]
        same = (dataset, tasks) == (self.dataset, self.tasks)
        rows = []
        for value in choice.values or self.values:
            exact = whole(value, self.symbol) if isinstance(self.values[0], int) else value
            for row in self.rows:
                for method in choice.methods_of(row, self.matters):
                    if method is None and row != "FoRo":
                        continue  # the paper varies FoRo only: such a row would be empty
                    records = lookup(Request(dataset, tasks, method, {self.setting: exact})) if method else ()
                    known = self.known.get(exact) if row == "FoRo" else None
                    cells = accuracy_and_forgetting(records, known or (None, None), same, self.setting)
                    rows.append(Row(f"{exact:,}", method, cells, float(value)))
        where = f"Ours: {paper.TITLES.get(dataset, dataset)}, T = {tasks_text(tasks)}"
        where += f"; the paper's: {paper.TITLES[self.dataset]}, T = {self.tasks}"
        return [Section("", METRICS, tuple(rows))], [where, self.note]


def long_streams(choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
    """The number T of tasks that the same classes are cut into."""
    dataset = (choice.datasets or ("cifar100",))[0]
    rows = []
    for length in choice.tasks or paper.LONG:
        for row in ("LayUP", "ADAM", "KEM", "FoRo"):
            for method in choice.methods_of(row):
                records = lookup(Request(dataset, length, method)) if method else ()
                known = paper.COMPARISON.get((row, "cifar100", length)) if isinstance(length, int) else None
                cells = (
                    *accuracy_and_forgetting(records, known or (None, None), dataset == "cifar100"),
                    Cell(None, percent(records, "last_accuracy"), tuple(records)),
                )
                x = length if isinstance(length, int) else len(length)
                rows.append(Row(f"T = {tasks_text(length)}, {row}", method, cells, float(x), row))
    where = f"Ours: {paper.TITLES.get(dataset, dataset)}; the paper's: CIFAR-100"
    note = "The paper's text states no figure for T = 50; T = 5 and 25 are in its Table 1"
    return [Section("", (*METRICS, Column("accuracy of all test images")), tuple(rows))], [where, note]


def whole(value: float, symbol: str) -> int:
    """A value that must be a whole number, as an int."""
    if value != int(value):
        raise InputError(f"{symbol} must be a whole number, not {value:g}")
    return int(value)
