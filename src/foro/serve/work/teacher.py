"""The one thread that changes the model. Predictions never wait for it: they use what was published last."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from foro.durable import MOST_JOURNAL, DurableLearner
from foro.errors import FoRoError, ModelFileError
from foro.serve.logs import LOGGER, log
from foro.serve.problems import Problem
from foro.serve.work.published_model import PublishedModel
from foro.util.parallel import step_back

Result = TypeVar("Result")

SHOWN_WITHIN = 10.0
"""Seconds that an answer waits for predictions to know what was learned; it is safe on the disk before."""

NICENESS = 5


class Job:
    """A change to be made; ``made`` when it is on the disk, ``shown`` when predictions know it."""

    def __init__(self, change: Callable[[DurableLearner], Any]) -> None:
        self.change = change
        self.made: Future[Any] = Future()
        self.shown: Future[None] = Future()
        for each in (self.made, self.shown):
            each.set_running_or_notify_cancel()  # a client that stops waiting does not stop the change


class Teacher:
    """Makes changes one after the other; those that wait together are published together."""

    def __init__(self, durable: DurableLearner, save_seconds: float) -> None:
        self._durable = durable
        self._save_seconds = save_seconds
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.trouble: str | None = None  # why the model file could not be written; it is tried again
        if durable.recovered:  # the last accuracy was not on the disk yet
            self._measure()
        self.published = PublishedModel.of(durable)
        self._thread = threading.Thread(target=self._run, name="foro-teach", daemon=True)
        self._thread.start()

    @property
    def depth(self) -> int:
        """Changes that wait."""
        return len(self._jobs)

    def submit(self, change: Callable[[DurableLearner], Any]) -> Job:
        """Has a change made when its turn comes; for any thread."""
        job = Job(change)
        with self._changed:
            if self._closed:
                raise Problem(503, "stopping", "the service is being stopped")
            self._jobs.append(job)
            self._changed.notify()
        return job

    async def make(self, change: Callable[[DurableLearner], Result]) -> Result:
        """Has a change made; returns when it is on the disk, and if that is soon, when predictions know it."""
        job = self.submit(change)
        result: Result = await asyncio.wrap_future(job.made)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(job.shown), SHOWN_WITHIN)
        return result

    def close(self) -> None:
        """Makes what was asked for, saves, and lets go of the model."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        step_back(NICENESS)  # predictions have the processor first
        while jobs := self._next():
            version = self._durable.learner.ledger.sequence
            for job in jobs:
                self._make(job)
            if self._durable.learner.ledger.sequence != version:
                self._publish()
            for job in jobs:
                job.shown.set_result(None)
            if self._durable.journal_bytes > MOST_JOURNAL:
                self._save()
        self._save()
        self._durable.close()

    def _next(self) -> list[Job]:
        """All that waits; saves what was learned when there is nothing to do. Empty at the end."""
        while True:
            with self._changed:
                if not self._jobs and not self._closed:
                    self._changed.wait(self._save_seconds if self._durable.journal_bytes else None)
                if self._jobs or self._closed:
                    jobs = list(self._jobs)
                    self._jobs.clear()
                    return jobs
            self._save()

    def _make(self, job: Job) -> None:
        try:
            job.made.set_result(job.change(self._durable))
        except Problem as problem:
            job.made.set_exception(problem)
        except ModelFileError as error:
            log("what was learned cannot be written", logging.ERROR, reason=str(error))
            job.made.set_exception(
                Problem(
                    507, "cannot-write", "what was to be learned cannot be written to the disk, and was not learned"
                )
            )
        except FoRoError as error:
            job.made.set_exception(Problem(422, "cannot-learn", str(error)))
        except Exception as error:
            job.made.set_exception(error)

    def _publish(self) -> None:
        try:
            self._measure()
            self.published = PublishedModel.of(self._durable)
        except Exception:
            LOGGER.exception("the classifier could not be made anew: predictions go on with the last one")

    def _measure(self) -> None:
        learner = self._durable.learner
        accuracy = learner.head.estimate().accuracy if learner.labels else None
        if accuracy is not None:
            learner.ledger.measure(accuracy, learner.head.samples)

    def _save(self) -> None:
        if not self._durable.journal_bytes:
            return
        try:
            self._durable.save()
        except FoRoError as error:  # the journal has it, and it is tried again
            self.trouble = str(error)
            log("the model file cannot be written", logging.ERROR, reason=self.trouble)
        except Exception as error:
            self.trouble = str(error)
            LOGGER.exception("the model file cannot be written")
        else:
            self.trouble = None
            log("saved", samples=self.published.samples, classes=len(self.published.labels))
