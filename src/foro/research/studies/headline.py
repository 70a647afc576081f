"""What a method without a gradient reaches and costs, beside RanPAC and others that train by back-propagation."""

from __future__ import annotations

from collections.abc import Sequence

from foro.research.protocol.record import Record
from foro.research.protocol.run_groups import Mean, paired
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Choice, Lookup, Request
from foro.research.studies.table import METRICS, Cell, Column, Row, Section, accuracy_and_forgetting

YARDSTICK = "ranpac"
METHODS = ("kem-cls", "kem", "foro", YARDSTICK, "layup", "adam", "kem-paper", "foro-paper", "fitness-paper")
COLUMNS = (
    *METRICS,
    Column(f"A − {YARDSTICK}"),
    Column("FP", less_is_better=True),
    Column("BP", less_is_better=True),
    Column("CPU seconds", 0, less_is_better=True),
    Column("MB", 0, less_is_better=True),
)


def headline(choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
    """Accuracy, its paired difference from RanPAC's, passes, time and memory: a section for each stream."""
    sections = []
    for dataset in choice.datasets or ("cifar100",):
        for tasks in choice.tasks or (5, 25):
            runs = {method: lookup(Request(dataset, tasks, method)) for method in choice.methods or METHODS}
            rows = [
                Row(method, method, _cells(records, () if method == YARDSTICK else runs.get(YARDSTICK, ())))
                for method, records in runs.items()
            ]
            title = f"{paper.TITLES.get(dataset, dataset)}, T = {tasks_text(tasks)}"
            sections.append(Section(title, COLUMNS, tuple(rows)))
    return sections, [
        f"A − {YARDSTICK} is over pairs of runs with the same seed, ± its standard error",
        "FP and BP are forward and backward passes through the backbone for each image learned, those of the search "
        "and of every epoch of training included",
        "CPU seconds are the processor's, of all threads, for learning all tasks without the feature cache; MB is the "
        "process's peak resident memory meanwhile; each run in a process of its own",
    ]


def _cells(records: Sequence[Record], yardstick: Sequence[Record]) -> tuple[Cell, ...]:
    seconds = [each for record in records if (each := record.learning_cpu_seconds) is not None]
    memory = [each for record in records if (each := record.peak_megabytes) is not None]
    values = (
        paired(records, yardstick),
        Mean.of([record.passes_per_sample() for record in records]),
        Mean.of([record.passes_per_sample("backward") for record in records]),
        Mean.of(seconds),
        Mean.of(memory),
    )
    sources = tuple(records)
    return (
        *accuracy_and_forgetting(records, (None, None)),
        *(Cell(None, value, sources if value else ()) for value in values),
    )
