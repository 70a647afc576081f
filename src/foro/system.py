"""What this process takes of the machine."""

from __future__ import annotations

import sys


def peak_megabytes() -> float | None:
    """Peak resident memory of this process so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
