"""How fast one address may ask: a bucket of requests that fills up again at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

BURST_SECONDS = 2.0
"""Seconds' worth of requests that may come at once."""

MOST_CLIENTS = 4096
"""Addresses that are remembered; the one that was quiet for longest is forgotten first."""


class RateLimit:
    """``rate`` requests a second for each client, and a burst of twice as many; 0 is no limit."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = max(1.0, rate * BURST_SECONDS)
        self._clock = clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, at which time

    def wait(self, client: str) -> float:
        """Takes one request: 0.0 if it may be served, else the seconds after which it may."""
        if not self._rate:
            return 0.0
        now = self._clock()
        left, then = self._clients.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        allowed = left >= 1.0
        self._clients[client] = (left - 1.0 if allowed else left, now)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self._rate
