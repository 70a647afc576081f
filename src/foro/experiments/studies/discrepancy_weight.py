"""Table 4: λ."""

from __future__ import annotations

from foro.experiments import paper
from foro.experiments.study import Answers, Choice, study
from foro.experiments.sweep import Sweep
from foro.experiments.table import Table


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
