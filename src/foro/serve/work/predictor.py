"""Predictions of many requests at once: decoded by a few threads, then sent through the backbone together.

No request waits for a batch to fill: while one batch is computed, the next one gathers. What is over a full number of
rows goes with the batch after it: products with the classifier cost the same for one row as for ``ROWS``.
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
from foro.serve.problems import Problem
from foro.serve.work.decoder import Decoder
from foro.snapshot import ROWS, Snapshot
from foro.types import Float32, Float64
from foro.util.threads import thread_count

TOGETHER = 16
"""Most images of a batch; the backbone cuts it further as suits it."""


@dataclass(frozen=True, eq=False)
class Answer:
    """How likely each label is (c,), and the chance that an image is of none of them; None: not known."""

    probabilities: Float64
    unknown: float | None


class Ticket:
    """One request: its images go their own ways, and the answer is given when the last one is through."""

    def __init__(self, snapshot: Snapshot, count: int) -> None:
        self.snapshot = snapshot
        self.results: list[Answer | Problem | None] = [None] * count
        self._left = count
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()

    def put(self, position: int, result: Answer | Problem) -> bool:
        """Whether this was the last one."""
        self.results[position] = result
        with self._lock:
            self._left -= 1
            return not self._left

    @property
    def over(self) -> bool:
        """Whether nobody waits for it any more: the client has gone, or one of its images has failed."""
        return self.done.done()

    @staticmethod
    def finish(tickets: Sequence[Ticket], error: Exception | None = None) -> None:
        """Gives the answers, from another thread: the event loop is woken once for all of them."""

        def finish() -> None:
            for each in tickets:
                if each.done.done():
                    continue
                if error is None:
                    each.done.set_result(None)
                else:
                    each.done.set_exception(error)

        if tickets:
            tickets[0]._loop.call_soon_threadsafe(finish)


@dataclass(frozen=True)
class _Waiting:
    ticket: Ticket
    position: int
    pixels: Float32


class Predictor:
    """A few threads that decode, and one that runs the backbone; what is to be learned never goes through them."""

    def __init__(self, backbone: Backbone, decoder: Decoder) -> None:
        self._backbone = backbone
        self._decoder = decoder
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.pool = ThreadPoolExecutor(min(4, thread_count()), thread_name_prefix="foro-decode")
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
        if ticket.over:
            return
        try:
            image = self._decoder(data)
            if isinstance(image, Problem):
                if ticket.put(position, image):
                    Ticket.finish([ticket])
                return
            waiting = _Waiting(ticket, position, self._backbone.preprocessing(image))
        except Exception as error:
            Ticket.finish([ticket], error)
            return
        with self._changed:
            self._waiting.append(waiting)
            self._changed.notify()

    def _run(self) -> None:
        while batch := self._next():
            try:
                snapshot = batch[0].ticket.snapshot
                answers = snapshot.pixel_answers(np.stack([each.pixels for each in batch]))
                complete = []
                for each, likely, unknown in zip(batch, *answers, strict=True):
                    answer = Answer(likely, float(unknown) if snapshot.familiar else None)
                    if each.ticket.put(each.position, answer):
                        complete.append(each.ticket)
                Ticket.finish(complete)
            except Exception as error:
                Ticket.finish([each.ticket for each in batch], error)

    def _next(self) -> list[_Waiting]:
        """What waits, as far as it shares a snapshot; empty when all is done."""
        batch: list[_Waiting] = []
        with self._changed:
            while not batch:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    break
                most = min(len(self._waiting), TOGETHER)
                most -= most % ROWS if most > ROWS else 0
                while self._waiting and len(batch) < most:
                    if batch and self._waiting[0].ticket.snapshot is not batch[0].ticket.snapshot:
                        break
                    first = self._waiting.popleft()
                    if not first.ticket.over:
                        batch.append(first)
        return batch
