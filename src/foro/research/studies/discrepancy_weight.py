"""Table 4: λ."""

from __future__ import annotations

from foro.research.studies import paper
from foro.research.studies.study import Answers, Choice, study
from foro.research.studies.sweep import Sweep
from foro.research.tables.table import Table


@study("lambda", "table", varies=True)
def discrepancy_weight(choice: Choice, answers: Answers) -> Table:
    """The weight λ of the activation discrepancy."""
    return Sweep(
        name="lambda",
        number="Table 4",
        title="weight of the activation discrepancy",
        symbol="λ",
        setting="discrepancy_weight",
        values=tuple(paper.LAMBDA),
        dataset="imagenet_r",
        tasks=5,
        known=paper.LAMBDA,
        matters=lambda settings: settings["fitness"] != "entropy",
        note="λ weighs the discrepancy against the entropy summed over samples, as in the paper's fitness",
    ).build(choice, answers)
