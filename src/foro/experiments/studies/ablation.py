"""Table 2: the parts of FoRo."""

from __future__ import annotations

from foro.experiments import paper
from foro.experiments.spec import tasks_text
from foro.experiments.study import Answers, Ask, Choice, averaged, study
from foro.experiments.table import Column, Row, Section, Table

ROWS = {
    "FT": "FT",
    "Entropy": "Entropy",
    "Discrepancy": "Discrepancy",
    "KEM": "KEM",
    "Entropy + Discrepancy": "Fitness",
    "Entropy + KEM": "Entropy + KEM",
    "Discrepancy + KEM": "Discrepancy + KEM",
    "Entropy + Discrepancy + KEM": "FoRo",
}
"""Rows of Table 2, and the names under which methods register for them."""


@study("ablation", "table")
def ablation(choice: Choice, answers: Answers) -> Table:
    """Entropy and discrepancy in the fitness, with and without the knowledge encoder."""
    datasets, lengths = choice.datasets or tuple(paper.TITLES), choice.tasks or (5, 25)
    same = set(datasets) == set(paper.TITLES) and set(lengths) == {5, 25}
    filled = []
    for label, row in ROWS.items():
        for method in choice.methods_of(row):
            groups = [
                answers(Ask(dataset, tasks, method)) for dataset in datasets for tasks in lengths if method is not None
            ]
            filled.append(Row(label, method, averaged(groups, paper.ABLATION[label], same)))
    streams = f"{', '.join(paper.TITLES.get(name, name) for name in datasets)}, T = {_listed(lengths)}"
    note = f"Ours are averages of {streams}; the paper's of {', '.join(paper.TITLES.values())}, T = 5 and 25"
    columns = (Column("A"), Column("F", less_is_better=True))
    section = Section("", columns, tuple(filled))
    return Table("ablation", "Table 2", "parts of FoRo", "parts", (section,), (note,))


def _listed(lengths: tuple[int | tuple[int, ...], ...]) -> str:
    return " and ".join(tasks_text(tasks) for tasks in lengths)
