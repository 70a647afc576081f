"""Table 3: what methods cost."""

from __future__ import annotations

from collections.abc import Sequence

from foro.experiments import paper
from foro.experiments.record import Record
from foro.experiments.spec import tasks_text
from foro.experiments.study import Answers, Ask, Choice, percent, study
from foro.experiments.table import Cell, Column, Row, Section, Table
from foro.experiments.value import Value

COLUMNS = {
    "forward": Column("FP", less_is_better=True),
    "backward": Column("BP", less_is_better=True),
    "accuracy": Column("A"),
    "forgetting": Column("F", less_is_better=True),
    "seconds": Column("seconds", 0, less_is_better=None),
    "megabytes": Column("MB", 0, less_is_better=None),
}


@study("complexity", "table", timed=True)
def complexity(choice: Choice, answers: Answers) -> Table:
    """Forward and backward passes for each sample, accuracy, time and memory."""
    dataset, tasks = (choice.datasets or ("cifar100",))[0], (choice.tasks or (25,))[0]
    populations = {int(value) for value in choice.values} if choice.values else {2, 4, 6}
    wanted = [key for key in paper.COMPLEXITY if key[0] != "FoRo"]
    wanted += [("FoRo", population) for population in sorted(populations)]
    same = (dataset, tasks) == ("cifar100", 25)
    filled = []
    for row, population in wanted:
        known = paper.COMPLEXITY.get((row, population), {})
        for method in choice.methods_of(row):
            settings = {} if population is None else {"population": population}
            records = answers(Ask(dataset, tasks, method, settings)) if method else ()
            ours = _measured(records)
            cells = tuple(
                Cell(known.get(name), ours.get(name), tuple(records) if ours.get(name) else (), same)
                for name in COLUMNS
            )
            filled.append(Row(row if population is None else f"{row} (K = {population})", method, cells))
    notes = (
        f"Ours: {paper.TITLES.get(dataset, dataset)}, T = {tasks_text(tasks)}; the paper's: CIFAR-100, T = 25",
        "FP and BP are passes through the backbone for each image learned, those of the search for a prompt included",
        "Seconds are of learning all tasks. The paper's are of one RTX 4090; ours of this machine's processor, without "
        "the feature cache, while it may have been doing other work",
        "MB is the paper's GPU memory, and our whole process's peak resident memory while learning",
        "The paper prints Table 1's averages of all data sets as KEM's A and F here",
    )
    section = Section("", tuple(COLUMNS.values()), tuple(filled))
    return Table("complexity", "Table 3", "computational complexity", "method", (section,), notes)


def _measured(records: Sequence[Record]) -> dict[str, Value | None]:
    return {
        "forward": Value.of([record.passes_per_sample() for record in records]),
        "backward": Value.of([record.passes_per_sample("backward") for record in records]),
        "accuracy": percent(records, "average_accuracy"),
        "forgetting": percent(records, "average_forgetting"),
        "seconds": Value.of([each for record in records if (each := record.learning_seconds) is not None]),
        "megabytes": Value.of([each for record in records if (each := record.peak_megabytes) is not None]),
    }
