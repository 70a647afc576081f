"""The software and computer that a result was made with, and the time and memory of each stage."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import foro
from foro.util.system import allowed_cores, peak_megabytes

PACKAGES = ("numpy", "scipy", "scikit-learn", "onnxruntime", "cma", "pillow", "torch", "timm", "diffusers")


def versions() -> dict[str, str]:
    """Versions of FoRo, Python and the installed packages that the numbers depend on."""
    found = {"foro": foro.__version__, "python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def machine() -> dict[str, Any]:
    """The computer: system, processor, cores, cores that this process may use, and memory."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "allowed_cores": allowed_cores(),
        "memory_megabytes": _memory_megabytes(),
    }


@dataclass
class Stage:
    """Seconds of a stage, those of the processor on all of its threads, and the peak resident memory during it."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_megabytes: float | None = None


@contextmanager
def measured() -> Iterator[Stage]:
    """Measures the block.

    Only Linux can reset the peak; elsewhere it is that of the process until the end of the stage.
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    stage = Stage()
    start, used = time.perf_counter(), time.process_time()
    try:
        yield stage
    finally:
        stage.seconds, stage.cpu_seconds = time.perf_counter() - start, time.process_time() - used
        peak = _field("/proc/self/status", "VmHWM")
        stage.peak_megabytes = int(peak.split()[0]) / 2**10 if peak else peak_megabytes()


def _processor() -> str:
    return _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()


def _memory_megabytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


def _field(path: str, name: str) -> str | None:
    """The value of the first ``name: value`` line of one of Linux's text files."""
    with suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return None
