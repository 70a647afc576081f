"""Figure 4: long streams."""

from __future__ import annotations

from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Answers, Ask, Choice, accuracy_and_forgetting, percent, study
from foro.research.tables.table import Cell, Column, Row, Section, Table

ROWS = ("LayUP", "ADAM", "KEM", "FoRo")


@study("tasks", "figure", many=("tasks",))
def tasks(choice: Choice, answers: Answers) -> Table:
    """The number T of tasks that the same classes are cut into."""
    dataset = (choice.datasets or ("cifar100",))[0]
    rows = []
    for length in choice.tasks or paper.LONG:
        for row in ROWS:
            for method in choice.methods_of(row):
                records = answers(Ask(dataset, length, method)) if method else ()
                known = paper.COMPARISON.get((row, "cifar100", length)) if isinstance(length, int) else None
                cells = (
                    *accuracy_and_forgetting(records, known or (None, None), dataset == "cifar100"),
                    Cell(None, percent(records, "last_accuracy"), tuple(records)),
                )
                x = length if isinstance(length, int) else len(length)
                rows.append(Row(f"T = {tasks_text(length)}, {row}", method, cells, float(x), row))
    columns = (Column("A"), Column("F", less_is_better=True), Column("accuracy of all test images"))
    notes = (
        f"Ours: {paper.TITLES.get(dataset, dataset)}; the paper's: CIFAR-100",
        "The paper's text states no figure for T = 50; T = 5 and 25 are in its Table 1",
    )
    return Table(
        "tasks",
        "Figure 4",
        "long streams of tasks",
        "tasks",
        (Section("", columns, tuple(rows)),),
        notes,
        axis="T, number of tasks",
    )
