"""How many threads work at once: one place that decides for BLAS, ONNX Runtime, torch and the decoding of images.

BLAS and ONNX Runtime would each start a thread for every core. Those of OpenBLAS spin while they wait for each other:
beside other programs, that is most of what they do. Here each of them has the caller's thread only, and FoRo cuts
work into pieces that a few threads of its own take (``foro.util.parallel``). One without a piece sleeps.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ContextDecorator
from typing import Any

from foro.util.system import allowed_cores


def thread_count() -> int:
    """Threads that may work at once: one for each core of this process, fewer where OMP_NUM_THREADS says so."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # it may have a number for every level
    return min(allowed_cores(), max(1, int(wanted))) if wanted.isdecimal() else allowed_cores()


def set_environment() -> None:
    """For a process that is FoRo's own, before NumPy is imported: libraries start no threads, and none that spins."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("VECLIB_MAXIMUM_THREADS", "1")  # BLAS of macOS
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # of torch's threads


class _OneBlasThread(ContextDecorator):
    """Counts those inside, in any thread: the first one in sets the limit, the last one out takes it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limited: list[tuple[Any, int]] = []  # libraries, and the threads that each had before
        self._libraries: list[Any] = []
        self._with_scipy: bool | None = None  # whether it was loaded when the libraries were looked for

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._look() or self._inside == 1:
                known = [library for library, _ in self._limited]
                for library in self._libraries:
                    if library not in known:
                        self._limited.append((library, library.get_num_threads()))
                        library.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for library, threads in self._limited:
                    library.set_num_threads(threads)
                self._limited = []

    def _look(self) -> bool:
        """Whether there may be libraries that were not there before: SciPy brings a BLAS of its own."""
        if (scipy := "scipy.linalg" in sys.modules) == self._with_scipy:
            return False
        from threadpoolctl import ThreadpoolController  # here for start-up time

        found = ThreadpoolController().select(user_api="blas").lib_controllers
        known = {library.filepath for library in self._libraries}
        self._libraries += [library for library in found if library.filepath not in known]
        self._with_scipy = scipy
        return True


one_blas_thread = _OneBlasThread()
"""A context, or a decorator: BLAS computes in the thread that calls it, and a user's own setting holds elsewhere."""
