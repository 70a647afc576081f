"""Small first tasks, and methods that learn them in a second."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones import Backbone
from foro.features.cache import FeatureCache
from foro.research.baselines.first_session import FirstSessionMethod
from foro.research.protocol.method_catalog import find_method
from tests.conftest import textures

QUICK: dict[str, Any] = {
    "epochs": 25,
    "batch_size": 8,
    "optimiser": "adamw",
    "learning_rate": 0.03,
    "head_scale": 10.0,
    "crop_area": 1.0,
    "flip": False,
    "adapter_width": 8,
    "prompt_tokens": 3,
}
"""Enough steps on a random ViT to tell textures apart."""


def first_task(per_class: int = 6) -> tuple[list[NDArray[np.uint8]], list[int]]:
    """Images of four textures, and the numbers of their classes."""
    images, labels = textures(per_class)
    return images, [int(label[-1]) for label in labels]


def build(
    name: str, backbone: Backbone, seed: int = 0, cache: FeatureCache | None = None, **settings: Any
) -> FirstSessionMethod:
    """A method with some settings; without adaptation unless they name one."""
    method = find_method(name)
    resolved = method.resolve({"adaptation": "none", **settings})
    made = method.build(backbone, resolved, seed, cache)
    assert isinstance(made, FirstSessionMethod)
    return made
