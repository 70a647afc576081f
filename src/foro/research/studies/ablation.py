"""Table 2: the parts of FoRo."""

from __future__ import annotations

from functools import partial

from foro.research.methods.method import Settings
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Answers, Ask, Choice, averaged, study
from foro.research.tables.table import Column, Row, Section, Table

ROWS = {
    "FT": ("FT", None),
    "Entropy": ("Entropy", "entropy"),
    "Discrepancy": ("Discrepancy", "discrepancy"),
    "KEM": ("KEM", None),
    "Entropy + Discrepancy": ("Fitness", "both"),
    "Entropy + KEM": ("Entropy + KEM", "entropy"),
    "Discrepancy + KEM": ("Discrepancy + KEM", "discrepancy"),
    "Entropy + Discrepancy + KEM": ("FoRo", "both"),
}
"""Rows of Table 2, the names under which methods register for them, and the fitness that a row is of.

``foro`` and ``fitness`` evolve by the entropy alone, as we measured to be better: they are not what the last row says.
"""


@study("ablation", "table", many=("datasets", "tasks"))
def ablation(choice: Choice, answers: Answers) -> Table:
    """Entropy and discrepancy in the fitness, with and without the knowledge encoder."""
    datasets, lengths = choice.datasets or tuple(paper.TITLES), choice.tasks or (5, 25)
    same = set(datasets) == set(paper.TITLES) and set(lengths) == {5, 25}
    filled = []
    for label, (row, fitness) in ROWS.items():
        for method in choice.methods_of(row, partial(_has, fitness)):
            groups = [
                answers(Ask(dataset, tasks, method)) for dataset in datasets for tasks in lengths if method is not None
            ]
            filled.append(Row(label, method, averaged(groups, paper.ABLATION[label], same)))
    streams = f"{', '.join(paper.TITLES.get(name, name) for name in datasets)}, T = {_listed(lengths)}"
    note = f"Ours are averages of {streams}; the paper's of {', '.join(paper.TITLES.values())}, T = 5 and 25"
    columns = (Column("A"), Column("F", less_is_better=True))
    section = Section("", columns, tuple(filled))
    return Table("ablation", "Table 2", "parts of FoRo", "parts", (section,), (note,))


def _has(fitness: str | None, settings: Settings) -> bool:
    return fitness in (None, settings.get("fitness"))


def _listed(lengths: tuple[int | tuple[int, ...], ...]) -> str:
    return " and ".join(tasks_text(tasks) for tasks in lengths)
