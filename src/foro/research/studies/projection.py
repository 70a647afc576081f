"""Table 5: the width of the random projection."""

from __future__ import annotations

from foro.research.studies import paper
from foro.research.studies.study import Answers, Choice, study
from foro.research.studies.sweep import Sweep
from foro.research.tables.table import Table


@study("projection", "table", varies=True)
def projection(choice: Choice, answers: Answers) -> Table:
    """The width M of the random projection, with γ = 0.1 as in the paper and γ by cross-validation."""
    return Sweep(
        name="projection",
        number="Table 5",
        title="width of the random projection",
        symbol="M",
        setting="projection_dim",
        values=tuple(paper.PROJECTION),
        dataset="cifar100",
        tasks=5,
        known={width: (accuracy, None) for width, accuracy in paper.PROJECTION.items()},
        note="Methods whose name ends in -paper use γ = 0.1, the others choose γ by cross-validation",
        rows=("FoRo", "KEM"),
        log_axis=True,
    ).build(choice, answers)
