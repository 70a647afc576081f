"""The machine as this process finds it: memory, processor cores and the folder for caches."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def peak_megabytes() -> float | None:
    """Peak resident memory of this process so far, in MiB; None where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def allowed_cores() -> int:
    """Processor cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_dir() -> Path:
    """``FORO_CACHE``, or ``foro`` where this system keeps the user's caches; not created here."""
    if chosen := os.environ.get("FORO_CACHE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path  # here for start-up time

    return user_cache_path("foro", appauthor=False, opinion=False)
