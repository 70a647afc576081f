"""Every table and figure of the paper, one entry each, in the paper's order, then ours."""

from __future__ import annotations

from foro.adaptation.fitness import parse_terms
from foro.errors import InputError
from foro.research.studies import paper
from foro.research.studies.ablation import ablation
from foro.research.studies.comparison import comparison
from foro.research.studies.complexity import complexity
from foro.research.studies.headline import headline
from foro.research.studies.steps import steps
from foro.research.studies.study import Kind, Study
from foro.research.studies.sweep import Sweep, long_streams
from foro.research.studies.uneven import uneven


def _sweep(name: str, number: str, title: str, sweep: Sweep) -> Study:
    """A study that varies one setting."""
    axis = f"{sweep.symbol}, {title}" if number.startswith("Figure") else None
    return Study(name, number, title, sweep.symbol, sweep, varies=True, axis=axis)


STUDIES = (
    Study("comparison", "Table 1", "comparison of methods", "method", comparison, many=("datasets", "tasks")),
    Study("ablation", "Table 2", "parts of FoRo", "parts", ablation, many=("datasets", "tasks")),
    Study("complexity", "Table 3", "computational complexity", "method", complexity, varies=True, timed=True),
    _sweep(
        "lambda",
        "Table 4",
        "weight of the activation discrepancy",
        Sweep(
            symbol="λ",
            setting="discrepancy_weight",
            values=tuple(paper.LAMBDA),
            dataset="imagenet_r",
            tasks=5,
            known=paper.LAMBDA,
            matters=lambda settings: "discrepancy" in parse_terms(settings["fitness"]),
            note="λ weighs the discrepancy against the entropy summed over samples, as in the paper's fitness",
        ),
    ),
    _sweep(
        "projection",
        "Table 5",
        "width of the random projection",
        Sweep(
            symbol="M",
            setting="projection_dim",
            values=tuple(paper.PROJECTION),
            dataset="cifar100",
            tasks=5,
            known={width: (accuracy, None) for width, accuracy in paper.PROJECTION.items()},
            rows=("FoRo", "KEM"),
            note="Methods whose name ends in -paper use γ = 0.1, the others choose γ by cross-validation",
        ),
    ),
    _sweep(
        "population",
        "Figure 3(a)",
        "candidates of a generation",
        Sweep(
            symbol="K",
            setting="population",
            values=(2, 4, 6, 8, 10, 14, 20, 28),
            dataset="cifar100",
            tasks=25,
            known={size: (values["accuracy"], values["forgetting"]) for size, values in paper.POPULATION.items()},
            note="The paper's text states K = 4 only; K = 2, 4 and 6 are in its Table 3",
        ),
    ),
    _sweep(
        "prompts",
        "Figure 3(b)",
        "tokens of a prompt",
        Sweep(
            symbol="P",
            setting="prompt_tokens",
            values=(1, 2, 3, 4, 6, 8, 10),
            dataset="cifar100",
            tasks=25,
            known=paper.PROMPT_TOKENS,
            note="The paper's text states no figure; P = 3 is its Table 1",
        ),
    ),
    Study("tasks", "Figure 4", "long streams of tasks", "tasks", long_streams, ("tasks",), axis="T, number of tasks"),
    Study("headline", "Ours", "accuracy, time and memory", "method", headline, many=("datasets", "tasks"), timed=True),
    Study("steps", "Ours", "what each part of FoRo brings", "what is changed", steps, many=("datasets", "tasks")),
    Study("uneven", "Ours", "blurry and imbalanced streams", "method", uneven, many=("datasets", "tasks")),
)


def list_studies(kind: Kind | None = None) -> list[Study]:
    """Every study, or only the tables or figures."""
    return [study for study in STUDIES if kind in (None, study.kind)]


def find_study(name: str, kind: Kind) -> Study:
    """The table or figure of a name."""
    named = {study.name: study for study in list_studies(kind)}
    if name not in named:
        raise InputError(f"there is no {kind} {name!r}; choose among {', '.join(named)}")
    return named[name]
