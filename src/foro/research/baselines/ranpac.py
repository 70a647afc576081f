"""RanPAC: random projection and second-order statistics of features that may be adapted to the first task.

Source: Mark D. McDonnell, Dong Gong, Amin Parvaneh, Ehsan Abbasnejad, Anton van den Hengel: RanPAC: Random
Projections and Pre-trained Models for Continual Learning, NeurIPS 2023.

Per task: the first one adapts the backbone under a cosine head. Then, for the first as for every other, features of
the adapted backbone go through a random projection with ReLU into a Gram matrix and class sums, from which a ridge
classifier is solved. Without adaptation, and with the same M and γ, this is ``kem``.

Defaults: those of the authors' code for CIFAR-100: adapters, see ``first_session``, and M = 10000.

Departures: the projection has variance 1/d, not 1, which only changes the unit of γ. γ is RanPAC's own choice, by a
fifth of the newest task that the others are not fitted on, among 17 powers of ten; the authors' code takes a matrix
factorisation for each of them (``solver`` original), here one decomposition serves all.

Memory: the adapted weights, and statistics that do not grow with the number of images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from foro.research.baselines.first_session import FAST
from foro.research.baselines.ridge_method import RidgeMethod, RidgeSettings
from foro.research.methods.method import Settings, register
from foro.util.settings import setting


@dataclass(frozen=True)
class RanpacSettings(RidgeSettings):
    """Settings of RanPAC."""

    regularisation: float | Literal["auto", "held-out"] = setting(
        "held-out", "γ, or how it is chosen: held-out as in RanPAC, or auto as in FoRo"
    )
    projection_dim: int = setting(10_000, "M, width of the random projection", least=1)


@register("ranpac", row="RanPAC")
class Ranpac(RidgeMethod):
    """RanPAC: adapters trained on the first task, then random projection, Gram matrix and ridge."""

    settings_type = RanpacSettings
    settings: RanpacSettings
    fast: ClassVar[Settings] = {**FAST, "projection_dim": 8192}  # M of KEM
    choice = "held-out"

    @property
    def projection_dim(self) -> int:
        return self.settings.projection_dim
