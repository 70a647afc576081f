"""Table 1: all methods on all data sets."""

from __future__ import annotations

from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Choice, Lookup, Request
from foro.research.studies.table import METRICS, Cell, Column, Row, Section, accuracy_and_forgetting, averaged


def comparison(choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
    """Accuracy and forgetting of every method, on three data sets in 5 and 25 tasks."""
    datasets, lengths = choice.datasets or tuple(paper.TITLES), choice.tasks or (5, 25)
    rows = [(row, method) for row in paper.METHODS for method in choice.methods_of(row)]
    columns = tuple(
        Column(f"{symbol}, T = {tasks_text(tasks)}", less_is_better=symbol == "F")
        for tasks in lengths
        for symbol in ("A", "F")
    )
    sections = []
    for dataset in datasets:
        filled = []
        for row, method in rows:
            cells: list[Cell] = []
            for tasks in lengths:
                records = lookup(Request(dataset, tasks, method)) if method else ()
                known = paper.COMPARISON.get((row, dataset, tasks)) if isinstance(tasks, int) else None
                cells += accuracy_and_forgetting(records, known or (None, None))
            if method or any(cell.paper for cell in cells):
                filled.append(Row(row, method, tuple(cells)))
        sections.append(Section(paper.TITLES.get(dataset, dataset), columns, tuple(filled)))
    notes = []
    if set(datasets) >= set(paper.TITLES) and set(lengths) >= {5, 25}:
        sections.append(_average(rows, lookup))
    else:
        notes.append("Only what was asked for; the paper has CIFAR-100, ImageNet-R and CUB-200 with T = 5 and 25")
    return sections, notes


def _average(rows: list[tuple[str, str | None]], lookup: Lookup) -> Section:
    """The paper's last columns: shown only if all of its data sets and numbers of tasks are."""
    filled = []
    for row, method in rows:
        groups = [lookup(Request(dataset, tasks, method)) for dataset in paper.TITLES for tasks in (5, 25) if method]
        filled.append(Row(row, method, averaged(groups, paper.AVERAGE[row])))
    return Section("Average of all three data sets, T = 5 and 25", METRICS, tuple(filled))
