"""A ridge classifier on the features of a first session: what LayUP and RanPAC have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from foro.config import check_regularisation
from foro.errors import InputError
from foro.heads.head import Head
from foro.heads.ridge import KnowledgeEncoder
from foro.research.baselines.first_session import FirstSessionMethod, FirstSessionSettings, gathered_for
from foro.research.baselines.grid_ridge import VALUES, GammaChoice, GridRidge, held_out
from foro.types import Label
from foro.util.settings import setting


@dataclass(frozen=True)
class RidgeSettings(FirstSessionSettings):
    """Settings of the first session and of the ridge classifier."""

    regularisation: float | Literal["auto", "held-out"] = setting(
        "auto",
        "γ of the shared solver; auto: by generalised cross-validation over all that was learned; held-out: the power "
        "of ten that does best on a fifth of the newest task, when fitted on the rest of it",
    )
    solver: Literal["shared", "original"] = setting(
        "shared", "shared: FoRo's encoder; original: that of the method's own code, slower and in single precision"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.regularisation, str):
            check_regularisation(self.regularisation)
            if self.solver == "original":
                raise InputError(
                    "the original solver chooses γ itself: leave regularisation out, or take solver = shared"
                )


class RidgeMethod(FirstSessionMethod):
    """Statistics of the CLS of ``layers`` layers, projected or not, and a ridge classifier from them."""

    settings: RidgeSettings
    classifier: Head
    choice: ClassVar[GammaChoice]  # how the method's own code chooses γ

    @property
    def projection_dim(self) -> int | None:
        """M; None: no projection."""
        return None

    def settle(self) -> None:
        self.classifier.weights  # noqa: B018  solves, and keeps it

    def make_classifier(self) -> Head:
        width, settings = self.layers * self.backbone.dim, self.settings
        if settings.solver == "original":
            return GridRidge(width, self.projection_dim, self.choice, self.seed)
        gamma = settings.regularisation
        return KnowledgeEncoder(width, self.projection_dim, "auto" if gamma == "held-out" else gamma, seed=self.seed)

    def gathered(self, batches: Iterable[NDArray[np.float32]], names: list[Label]) -> Callable[[], None]:
        head = self.classifier
        if self.settings.solver == "original" or self.settings.regularisation != "held-out":
            return gathered_for(head, batches, names)
        assert isinstance(head, KnowledgeEncoder)
        features = np.concatenate(list(batches))
        absorb = gathered_for(head, [features], names)
        gamma = best_held_out(head.project(features), names, self.seed)

        def commit() -> None:
            absorb()
            head.regularise(gamma)

        return commit


def best_held_out(rows: NDArray[np.float64], names: list[Label], seed: int) -> float:
    """The γ with the lowest squared error on a fifth of the rows (n, M) when fitted on the others: RanPAC's way.

    One singular value decomposition serves all values of γ.
    """
    positions = {name: number for number, name in enumerate(dict.fromkeys(names))}
    targets = np.eye(len(positions))[[positions[name] for name in names]]
    held = held_out(len(rows), seed)
    fitted = np.setdiff1d(np.arange(len(rows)), held)
    if not len(fitted):  # a task of one image
        return 1.0
    left, values, right = np.linalg.svd(rows[fitted], full_matrices=False)
    wanted, seen = left.T @ targets[fitted], rows[held] @ right.T
    errors = [
        ((seen * (values / (values**2 + gamma)) @ wanted - targets[held]) ** 2).mean() for gamma in VALUES["held-out"]
    ]
    return VALUES["held-out"][int(np.argmin(errors))]
