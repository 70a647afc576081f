"""timm's vision transformers without timm: their names, and what the tensors of a checkpoint do not say."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def timm_vits() -> dict[str, dict[str, Any]]:
    """Architecture name -> its facts, and published ``tags``.

    ``parameters`` are without the classifier; ``eps`` and ``activation`` are there where they are not usual.

    Holds the architectures of timm that a FoRo backbone can run; a test compares it with the installed timm.
    """
    text = resources.files(__package__).joinpath("timm_vits.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, Any]] = json.loads(text)
    return table


def full_names() -> list[str]:
    """Every ``architecture.tag`` of the table."""
    return [f"{name}.{tag}" for name, row in timm_vits().items() for tag in row["tags"]]
