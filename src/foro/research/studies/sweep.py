"""Tables and figures that vary one setting of FoRo: its values down, accuracy and forgetting across."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foro.research.methods.method import Settings
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Answers, Ask, Choice, accuracy_and_forgetting, whole
from foro.research.tables.table import Column, Row, Section, Table
from foro.research.tables.value import Value


@dataclass(frozen=True)
class Sweep:
    """One setting, its values, and what the paper has for them on one stream."""

    name: str
    number: str
    title: str
    symbol: str
    setting: str
    values: Sequence[float]
    dataset: str
    tasks: int
    known: Mapping[float, tuple[Value, Value | None]]
    note: str
    rows: tuple[str, ...] = ("FoRo",)
    log_axis: bool = False
    matters: Callable[[Settings], bool] = lambda _settings: True  # whether the setting changes anything beside these

    def build(self, choice: Choice, answers: Answers) -> Table:
        """The table of what was run."""
        dataset, tasks = (choice.datasets or (self.dataset,))[0], (choice.tasks or (self.tasks,))[0]
        rows = []
        for value in choice.values or self.values:
            exact = whole(value, self.symbol) if isinstance(self.values[0], int) else value
            for row in self.rows:
                for method in choice.methods_of(row, self.matters):
                    if method is None and row != "FoRo":
                        continue  # the paper varies FoRo only: there is nothing to show in such a row
                    records = answers(Ask(dataset, tasks, method, {self.setting: exact})) if method else ()
                    known = self.known.get(exact) if row == "FoRo" else None
                    same = (dataset, tasks) == (self.dataset, self.tasks)
                    cells = accuracy_and_forgetting(records, known or (None, None), same, self.setting)
                    rows.append(Row(f"{exact:,}", method, cells, float(value)))
        section = Section("", (Column("A"), Column("F", less_is_better=True)), tuple(rows))
        where = f"Ours: {paper.TITLES.get(dataset, dataset)}, T = {tasks_text(tasks)}"
        where += f"; the paper's: {paper.TITLES[self.dataset]}, T = {self.tasks}"
        return Table(
            self.name,
            self.number,
            self.title,
            self.symbol,
            (section,),
            (where, self.note),
            axis=f"{self.symbol}, {self.title}",
            log_axis=self.log_axis,
        )
