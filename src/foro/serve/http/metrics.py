"""Counters for Prometheus, in its text format.

By hand: three kinds of lines are less than the client library's registry, and nothing global is left behind when two
services run in one process, as in the tests.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the latency histogram, in seconds."""


class Metrics:
    """What the service did so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], list[float]] = {}  # sum, then a count for each bucket and for the rest
        self._images: Counter[str] = Counter()
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """A value that is read when somebody asks for it."""
        self._gauges[name] = help, read

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method, route, status] += 1
            cells = self._seconds.setdefault((method, route), [0.0] * (len(BUCKETS) + 2))
            cells[0] += seconds
            cells[1 + bisect_left(BUCKETS, seconds)] += 1

    def images(self, what: str, count: int) -> None:
        """Counts images that were ``learned`` or ``predicted``."""
        with self._lock:
            self._images[what] += count

    def text(self) -> str:
        with self._lock:
            requests, images = dict(self._requests), dict(self._images)
            seconds = {key: list(cells) for key, cells in self._seconds.items()}
        lines = _head("foro_requests_total", "counter", "Requests by route and status.")
        for (method, route, status), count in sorted(requests.items()):
            lines.append(f"foro_requests_total{_labels(method=method, route=route, status=str(status))} {count}")
        name = "foro_request_seconds"
        lines += _head(name, "histogram", "Time to answer a request.")
        for (method, route), (total, *cells) in sorted(seconds.items()):
            running = 0.0
            for end, cell in zip((*map(str, BUCKETS), "+Inf"), cells, strict=True):
                running += cell
                lines.append(f"{name}_bucket{_labels(method=method, route=route, le=end)} {running:.0f}")
            lines.append(f"{name}_sum{_labels(method=method, route=route)} {total:.6f}")
            lines.append(f"{name}_count{_labels(method=method, route=route)} {running:.0f}")
        for what in ("learned", "predicted"):
            lines += _head(f"foro_images_{what}_total", "counter", f"Images that were {what}.")
            lines.append(f"foro_images_{what}_total {images.get(what, 0)}")
        for gauge, (help, read) in self._gauges.items():
            lines += [*_head(gauge, "gauge", help), f"{gauge} {read():g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]


def _labels(**labels: str) -> str:
    """Names and values; routes are the service's own, so that nothing has to be escaped."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
