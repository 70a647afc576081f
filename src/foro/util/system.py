"""The machine as this process finds it: memory, processor cores and the folder for caches."""

from __future__ import annotations

import math
import os
import sys
from contextlib import suppress
from functools import cache
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
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, cores_of_group())


@cache
def cores_of_group(own: Path = Path("/proc/self/cgroup"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Cores that a container or a service grants this process by the quota of its control group (version 2)."""
    quotas = [sys.maxsize]
    with suppress(OSError):
        for name in (line[4:] for line in own.read_text().splitlines() if line.startswith("0::/")):
            for group in (groups / name, *(groups / name).parents):
                with suppress(OSError, ValueError):  # ValueError: no limit
                    share, period = map(int, (group / "cpu.max").read_text().split())
                    quotas.append(max(1, math.ceil(share / period)))
    return min(quotas)


def cache_dir() -> Path:
    """``FORO_CACHE``, or ``foro`` where this system keeps the user's caches; not created here."""
    if chosen := os.environ.get("FORO_CACHE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path  # here for start-up time

    return user_cache_path("foro", appauthor=False, opinion=False)
