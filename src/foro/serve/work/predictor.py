"""Predictions of many requests at once: decoded by a few threads, then sent through the backbone together.

No request waits for a batch to fill: while one batch is computed, the next one gathers.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from foro.backbones import Backbone
from foro.features.readout import readout
from foro.heads.calibration import probabilities
from foro.serve.problems import Problem
from foro.serve.work.decoding import Pictures
from foro.snapshot import Snapshot
from foro.types import Float32, Float64
from foro.util.system import allowed_cores

TOGETHER = 16
"""Most images of a batch; the backbone cuts it further as suits it."""

ROWS = 8
"""Rows of every matrix product: always as many, so that no digit of an answer depends on what else was asked."""


class Ticket:
    """One request: its images go their own ways, and the answer is given when the last one is through."""

    def __init__(self, snapshot: Snapshot, count: int) -> None:
        self.snapshot = snapshot
        self.results: list[Float64 | Problem | None] = [None] * count
        self._left = count
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()

    def put(self, position: int, result: Float64 | Problem) -> None:
        self.results[position] = result
        with self._lock:
            self._left -= 1
            left = self._left
        if not left:
            self._loop.call_soon_threadsafe(self._finish, None)

    def fail(self, error: Exception) -> None:
        self._loop.call_soon_threadsafe(self._finish, error)

    def _finish(self, error: Exception | None) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


@dataclass(frozen=True)
class _Waiting:
    ticket: Ticket
    position: int
    pixels: Float32


class Predictor:
    """A few threads that decode, and one that runs the backbone."""

    def __init__(self, backbone: Backbone, pictures: Pictures) -> None:
        self._backbone = backbone
        self._pictures = pictures
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.pool = ThreadPoolExecutor(min(4, allowed_cores()), thread_name_prefix="foro-decode")
        self._thread = threading.Thread(target=self._run, name="foro-predict", daemon=True)
        self._thread.start()

    async def ask(self, snapshot: Snapshot, images: Sequence[bytes | None]) -> Ticket:
        """How likely each label of the snapshot is, for encoded images; or what is wrong with one."""
        ticket = Ticket(snapshot, len(images))
        for position, data in enumerate(images):
            self.pool.submit(self._decode, ticket, position, data)
        await ticket.done
        return ticket

    def close(self) -> None:
        """Finishes what was asked, and stops."""
        self.pool.shutdown(wait=True)
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _decode(self, ticket: Ticket, position: int, data: bytes | None) -> None:
        try:
            image = self._pictures(data)
            if isinstance(image, Problem):
                ticket.put(position, image)
                return
            waiting = _Waiting(ticket, position, self._backbone.preprocessing(image))
        except Exception as error:
            ticket.fail(error)
            return
        with self._changed:
            self._waiting.append(waiting)
            self._changed.notify()

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._answer(batch)
            except Exception as error:
                for each in batch:
                    each.ticket.fail(error)

    def _next(self) -> list[_Waiting]:
        """What waits, as far as it shares a prompt; empty when all is done."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            batch: list[_Waiting] = []
            while self._waiting and len(batch) < TOGETHER:
                if batch and self._waiting[0].ticket.snapshot.prompt is not batch[0].ticket.snapshot.prompt:
                    break
                batch.append(self._waiting.popleft())
            return batch

    def _answer(self, batch: list[_Waiting]) -> None:
        first = batch[0].ticket.snapshot
        prompts = None if first.prompt is None else first.prompt[None]
        tokens = self._backbone.embed(np.stack([each.pixels for each in batch]))
        features = readout(self._backbone.forward(tokens, prompts)[0], first.readout_layers)
        by_snapshot: dict[int, list[int]] = {}
        for number, each in enumerate(batch):
            by_snapshot.setdefault(id(each.ticket.snapshot), []).append(number)
        for numbers in by_snapshot.values():
            likely = likely_labels(batch[numbers[0]].ticket.snapshot, features[numbers])
            for number, row in zip(numbers, likely, strict=True):
                batch[number].ticket.put(batch[number].position, row)


def likely_labels(snapshot: Snapshot, features: Float32) -> Float64:
    """How likely each label is (n, c), for features (n, d)."""
    likely = np.empty((len(features), len(snapshot.labels)))
    rows = np.zeros((ROWS, features.shape[1]), np.float32)
    for start in range(0, len(features), ROWS):
        part = features[start : start + ROWS]
        rows[: len(part)] = part
        scores = snapshot.score_features(rows)
        likely[start : start + ROWS] = probabilities(scores, snapshot.sharpness)[: len(part)]
    return likely
