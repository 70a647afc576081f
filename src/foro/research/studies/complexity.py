"""Table 3: what methods cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foro.research.protocol.record import Record
from foro.research.protocol.run_groups import Mean, percent
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Choice, Lookup, Request
from foro.research.studies.sweep import whole
from foro.research.studies.table import Cell, Column, Row, Section

YARDSTICK = "kem"
"""The method whose cost is 1: no other needs fewer passes through the backbone."""

COLUMNS = {
    "forward": Column("FP", less_is_better=True),
    "backward": Column("BP", less_is_better=True),
    "accuracy": Column("A"),
    "forgetting": Column("F", less_is_better=True),
    "seconds": Column("seconds", 0, less_is_better=None),
    "megabytes": Column("MB", 0, less_is_better=None),
    "seconds_ratio": Column(f"seconds / {YARDSTICK}", less_is_better=True),
    "megabytes_ratio": Column(f"MB / {YARDSTICK}", 2, less_is_better=True),
}
RATIOS = {"seconds_ratio": "seconds", "megabytes_ratio": "megabytes"}
OTHER = {*RATIOS.values(), "forward", "backward"}
"""What cannot be compared: seconds and memory of another machine, and passes that the paper counts for one step."""

AVERAGES = {("KEM", "accuracy"), ("KEM", "forgetting")}
"""What the paper gives as averages over all data sets."""


def complexity(choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
    """Forward and backward passes for each sample, accuracy, time and memory."""
    dataset, tasks = (choice.datasets or ("cifar100",))[0], (choice.tasks or (25,))[0]
    same = (dataset, tasks) == ("cifar100", 25)
    chosen = [name for name in choice.methods_of("KEM") if name == YARDSTICK]
    yardstick = _measured(lookup(Request(dataset, tasks, YARDSTICK))) if chosen else {}
    filled = []
    for row, population in _rows(choice):
        known = _with_ratios(paper.COMPLEXITY.get((row, population), {}), paper.COMPLEXITY["KEM", None])
        for method in choice.methods_of(row):
            settings = {} if population is None else {"population": population}
            records = lookup(Request(dataset, tasks, method, settings)) if method else ()
            ours = _with_ratios(_measured(records), yardstick)
            cells = tuple(
                Cell(
                    known.get(name),
                    ours.get(name),
                    tuple(records) if ours.get(name) else (),
                    same and name not in OTHER and (row, name) not in AVERAGES,
                    varied="population",
                )
                for name in COLUMNS
            )
            filled.append(Row(row if population is None else f"{row} (K = {population})", method, cells))
    notes = [
        f"Ours: {paper.TITLES.get(dataset, dataset)}, T = {tasks_text(tasks)}; the paper's: CIFAR-100, T = 25",
        "FP and BP are passes through the backbone for each image learned, those of the search for a prompt and of "
        "every epoch of training included, those through DSG's generator not; the paper's FP and BP are of one step, "
        "and it leaves BP open where only the first task is trained on",
        "Seconds are of learning all tasks, the solution of the classifier included. The paper's are of one RTX 4090; "
        "ours of this machine, without the feature cache, while it may have been doing other work",
        "MB is the paper's GPU memory, and our whole process's peak resident memory while learning, each method in a "
        "process of its own",
        f"seconds / {YARDSTICK} and MB / {YARDSTICK} are ratios to {YARDSTICK} on the same machine, the paper's to its "
        "KEM",
        "The paper prints Table 1's averages of all data sets as KEM's A and F here",
    ]
    return [Section("", tuple(COLUMNS.values()), tuple(filled))], notes


def _rows(choice: Choice) -> list[tuple[str, int | None]]:
    """All of Table 1's rows, also those that the paper's Table 3 does not have, with FoRo's for each K."""
    populations = {whole(value, "K") for value in choice.values} if choice.values else {2, 4, 6}
    rows: list[tuple[str, int | None]] = [(row, None) for row in paper.METHODS if row != "FoRo"]
    return [*rows, *(("FoRo", population) for population in sorted(populations))]


def _measured(records: Sequence[Record]) -> dict[str, Mean]:
    values = {
        "forward": Mean.of([record.passes_per_sample() for record in records]),
        "backward": Mean.of([record.passes_per_sample("backward") for record in records]),
        "accuracy": percent(records, "average_accuracy"),
        "forgetting": percent(records, "average_forgetting"),
        "seconds": Mean.of([each for record in records if (each := record.learning_seconds) is not None]),
        "megabytes": Mean.of([each for record in records if (each := record.peak_megabytes) is not None]),
    }
    return {name: value for name, value in values.items() if value}


def _with_ratios(values: Mapping[str, Mean], yardstick: Mapping[str, Mean]) -> dict[str, Mean]:
    """Also what these are in units of the yardstick's, where both are known."""
    ratios = {
        name: Mean(values[quantity].mean / yardstick[quantity].mean)
        for name, quantity in RATIOS.items()
        if quantity in values and quantity in yardstick
    }
    return {**values, **ratios}
