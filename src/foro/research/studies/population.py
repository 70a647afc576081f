"""Figure 3(a): the population of CMA-ES."""

from __future__ import annotations

from foro.research.studies import paper
from foro.research.studies.study import Answers, Choice, study
from foro.research.studies.sweep import Sweep
from foro.research.tables.table import Table


@study("population", "figure", varies=True)
def population(choice: Choice, answers: Answers) -> Table:
    """The number K of candidates in a generation."""
    return Sweep(
        name="population",
        number="Figure 3(a)",
        title="candidates of a generation",
        symbol="K",
        setting="population",
        values=(2, 4, 6, 8, 10, 14, 20, 28),
        dataset="cifar100",
        tasks=25,
        known={size: (values["accuracy"], values["forgetting"]) for size, values in paper.POPULATION.items()},
        note="The paper's text states K = 4 only; K = 2, 4 and 6 are in its Table 3",
    ).build(choice, answers)
