"""Streams as they come in practice: classes that recur in later tasks, and classes of very different sizes."""

from __future__ import annotations

from foro.research.protocol.run_groups import percent
from foro.research.protocol.spec import tasks_text
from foro.research.studies import paper
from foro.research.studies.study import Choice, Lookup, Request
from foro.research.studies.table import Cell, Column, Row, Section

STREAMS = {"even": (0.0, 1.0), "30 % in other tasks": (0.3, 1.0), "10:1": (0.0, 10.0), "both": (0.3, 10.0)}
"""Of each column the blur and the imbalance."""

METHODS = ("kem-cls", "kem", "foro", "ranpac", "adam", "foro-paper")


def uneven(choice: Choice, lookup: Lookup) -> tuple[list[Section], list[str]]:
    """Accuracy over all test images after the last task: a section for each data set and number of tasks."""
    sections = []
    columns = tuple(Column(name) for name in STREAMS)
    for dataset in choice.datasets or ("cifar100",):
        for tasks in choice.tasks or (5,):
            rows = []
            for method in choice.methods or METHODS:
                runs = [
                    lookup(Request(dataset, tasks, method, blur=blur, imbalance=imbalance))
                    for blur, imbalance in STREAMS.values()
                ]
                if not any(runs[1:]):
                    runs = [()] * len(runs)  # an even stream alone is no comparison
                cells = [Cell(None, percent(each, "last_accuracy"), tuple(each)) for each in runs]
                rows.append(Row(method, method, tuple(cells)))
            title = f"{paper.TITLES.get(dataset, dataset)}, T = {tasks_text(tasks)}"
            sections.append(Section(title, columns, tuple(rows)))
    return sections, [
        "Accuracy over all test images after the last task, which are as many of every class in each column",
        "30 % in other tasks: that share of each class's train images comes in tasks drawn at random; 10:1: the "
        "largest class has ten times the train images of the smallest, those between fall geometrically",
    ]
