"""How many threads work at once: one place that decides for BLAS, ONNX Runtime, torch and the decoding of images.

BLAS and ONNX Runtime would each start a thread for every core. Those of OpenBLAS spin while they wait for each other:
beside other programs, that is most of what they do. Here each of them has the caller's thread only, and FoRo cuts
work into pieces that a few threads of its own take (``foro.util.parallel``). One without a piece sleeps.
"""

from __future__ import annotations

import os
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
        self._libraries: list[Any] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limited = [(library, library.get_num_threads()) for library in self._found()]
                for library, _ in self._limited:
                    library.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for library, threads in self._limited:
                    library.set_num_threads(threads)
                self._limited = []

    def _found(self) -> list[Any]:
        """NumPy's library; what is loaded later computes nothing of ours."""
        if self._libraries is None:
            from threadpoolctl import ThreadpoolController  # here for start-up time

            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return self._libraries


one_blas_thread = _OneBlasThread()
"""A context, or a decorator: BLAS computes in the thread that calls it, and a user's own setting holds elsewhere."""
