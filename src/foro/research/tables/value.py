"""A figure in a table: a mean over seeds with its deviation, the paper's or ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Value:
    """Mean, sample standard deviation over ``seeds`` runs; None where there is one run or the source does not say."""

    mean: float
    deviation: float | None = None
    seeds: int | None = None

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Value | None:
        """The value of one number for each seed; None of none."""
        if not numbers:
            return None
        deviation = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
        return cls(float(np.mean(numbers)), deviation, len(numbers))

    def text(self, digits: int = 1) -> str:
        """``87.7 ± 0.83``."""
        spread = "" if self.deviation is None else f" ± {self.deviation:,.{digits + 1}f}"
        return f"{self.mean:,.{digits}f}{spread}".replace("-", "−")
