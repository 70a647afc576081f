"""A ridge classifier on the features of a first session: what LayUP and RanPAC have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from foro.baselines.first_session import FirstSessionMethod, FirstSessionSettings
from foro.baselines.grid_ridge import Choice, GridRidge
from foro.baselines.settings import setting
from foro.knowledge import KnowledgeEncoder
from foro.knowledge.encoder import check_regularisation


@dataclass(frozen=True)
class RidgeSettings(FirstSessionSettings):
    """Settings of the first session and of the ridge classifier."""

    regularisation: float | Literal["auto"] = setting(
        "auto", "γ of the shared solver, or auto for generalised cross-validation", word="auto"
    )
    solver: str = setting(
        "shared",
        "shared: FoRo's encoder; original: that of the method's own code, slower and in single precision",
        choices=("shared", "original"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_regularisation(self.regularisation)


class RidgeMethod(FirstSessionMethod):
    """Statistics of the CLS of ``layers`` layers, projected or not, and a ridge classifier from them."""

    settings: RidgeSettings
    choice: ClassVar[Choice]  # how the method's own code chooses γ

    @property
    def projection_dim(self) -> int | None:
        """M; None: no projection."""
        return None

    def settle(self) -> None:
        self.classifier.weights  # noqa: B018  solves, and keeps it

    def make_classifier(self) -> KnowledgeEncoder | GridRidge:
        width, settings = self.layers * self.backbone.dim, self.settings
        if settings.solver == "original":
            return GridRidge(width, self.projection_dim, self.choice, self.seed)
        return KnowledgeEncoder(width, self.projection_dim, settings.regularisation, seed=self.seed)
