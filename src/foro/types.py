"""The array and label types that everything passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]
"""Arrays by name, as files store them."""

Label = str | int
"""What a class is called."""
