"""Table 2: the parts of FoRo."""

from __future__ import annotations

from functools import partial

from foro.research.methods.method import Settings
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Choice, Lookup, Request
from foro.research.studies.table import METRICS, Row, Section, averaged

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
"""For each row of Table 2 the row that methods register for, and the terms of the fitness that they must have.

``foro`` and ``fitness`` use the entropy alone, which measured better: they do not belong to the rows with both terms.
"""


def ablation(choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
    """Entropy and discrepancy in the fitness, with and without the knowledge encoder."""
    datasets, lengths = choice.datasets or tuple(paper.TITLES), choice.tasks or (5, 25)
    same = set(datasets) == set(paper.TITLES) and set(lengths) == {5, 25}
    filled = []
    for label, (row, fitness) in ROWS.items():
        for method in choice.methods_of(row, partial(_has, fitness)):
            groups = [lookup(Request(dataset, tasks, method)) for dataset in datasets for tasks in lengths if method]
            filled.append(Row(label, method, averaged(groups, paper.ABLATION[label], same)))
    cut = " and ".join(tasks_text(tasks) for tasks in lengths)
    streams = f"{', '.join(paper.TITLES.get(name, name) for name in datasets)}, T = {cut}"
    note = f"Ours are averages of {streams}; the paper's of {', '.join(paper.TITLES.values())}, T = 5 and 25"
    return [Section("", METRICS, tuple(filled))], [note]


def _has(fitness: str | None, settings: Settings) -> bool:
    return fitness in (None, settings.get("fitness"))
