"""Where FoRo keeps what it downloads and computes."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """``FORO_CACHE``, or ``foro`` in the user's own cache folder; not created here."""
    if chosen := os.environ.get("FORO_CACHE"):
        return Path(chosen).expanduser()
    usual = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(usual) if usual else Path.home() / ".cache") / "foro"
