"""What is ours, one change a row, and what each brings over the knowledge encoder as it is used by default."""

from __future__ import annotations

from collections.abc import Sequence

from foro.research.methods.method import Settings
from foro.research.protocol.record import Record
from foro.research.protocol.run_groups import Mean, paired
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Choice, Lookup, Request
from foro.research.studies.table import METRICS, Cell, Column, Row, Section, accuracy_and_forgetting

ROWS: tuple[tuple[str, str, Settings], ...] = (
    ("last CLS, γ = 0.1", "kem-cls", {"regularisation": 0.1}),
    ("γ by cross-validation", "kem-cls", {}),
    ("several tokens", "kem", {}),
    ("gains, frozen after the first task", "foro", {}),
    ("prompt, frozen", "foro", {"adaptation": "prompt"}),
    ("gains and prompt, frozen", "foro", {"adaptation": "both"}),
    ("gains that evolve with every task", "foro", {"policy": "evolve"}),
    ("prompt that evolves with every task", "foro", {"policy": "evolve", "adaptation": "prompt"}),
    ("gains and prompt that evolve with every task", "foro", {"policy": "evolve", "adaptation": "both"}),
)
COLUMNS = (*METRICS, Column("A − kem"), Column("FP", less_is_better=True))


def steps(choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
    """From the paper's encoder to ours, and what can be evolved on top of it."""
    sections = []
    for dataset in choice.datasets or ("cifar100",):
        for tasks in choice.tasks or (10,):
            runs = [
                (label, method, lookup(Request(dataset, tasks, method, settings)))
                for label, method, settings in ROWS
                if choice.methods is None or method in choice.methods
            ]
            neutral = next((records for _, method, records in runs if method == "kem"), ())
            rows = [Row(label, method, _cells(records, neutral)) for label, method, records in runs]
            title = f"{paper.TITLES.get(dataset, dataset)}, T = {tasks_text(tasks)}"
            sections.append(Section(title, COLUMNS, tuple(rows)))
    return sections, [
        "The first three rows change one thing each; the others change what is evolved, on top of the third",
        "A − kem is over pairs of runs with the same seed, ± its standard error",
        "FP are forward passes for each learned image, those of the search included",
    ]


def _cells(records: Sequence[Record], neutral: Sequence[Record]) -> tuple[Cell, ...]:
    """A, F, the gain over ``neutral``, and forward passes."""
    return (
        *accuracy_and_forgetting(records, (None, None)),
        Cell(None, paired(records, neutral), tuple(records)),
        Cell(None, Mean.of([each.passes_per_sample() for each in records]), tuple(records)),
    )
