"""Figure 3(b): the number of prompt tokens."""

from __future__ import annotations

from foro.research.studies import paper
from foro.research.studies.study import Answers, Choice, study
from foro.research.studies.sweep import Sweep
from foro.research.tables.table import Table


@study("prompts", "figure", varies=True)
def prompts(choice: Choice, answers: Answers) -> Table:
    """The number P of prompt tokens."""
    return Sweep(
        name="prompts",
        number="Figure 3(b)",
        title="tokens of a prompt",
        symbol="P",
        setting="prompt_tokens",
        values=(1, 2, 3, 4, 6, 8, 10),
        dataset="cifar100",
        tasks=25,
        known=paper.PROMPT_TOKENS,
        note="The paper's text states no figure; P = 3 is its Table 1",
    ).build(choice, answers)
