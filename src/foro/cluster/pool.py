"""The living workers: what each of them has been told, and a replacement for each that dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count as count_up
from types import TracebackType
from typing import Any, TypeVar

from foro.cluster.connection import connect, failure
from foro.cluster.worker import Place, Worker
from foro.errors import EngineError, first_line

Item = TypeVar("Item")
Call = Callable[[Any], Any]
"""Calls a method of a worker, given its handle, and returns the reference to the answer."""

AHEAD = 2
"""Most requests of a worker at a time: the one it computes, and one whose data travels."""

MOST_DEATHS = 5
"""Deaths that are replaced, beyond one for each worker of the pool, before the work fails."""


class WorkerLost(Exception):
    """A worker has died, or can no longer be relied on, with everything that it has learned."""


@dataclass(frozen=True)
class Member:
    """A worker of the pool. A number is never used twice: a replacement has a number of its own."""

    number: int
    handle: Any


class Pool:
    """Workers that have all been told the same; they live until the end of the context."""

    def __init__(self, count: int, gpus_per_worker: float, threads: int, start: Call) -> None:
        self._ray = connect()
        # Ray itself restarts and repeats nothing: it cannot know what a worker has counted already.
        options: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        options["runtime_env"] = {"env_vars": {"OMP_NUM_THREADS": str(threads)}}  # else Ray allows a single one
        if gpus_per_worker:
            options["num_gpus"] = gpus_per_worker
        self._actor = self._ray.remote(Worker).options(**options)
        self._broadcasts: dict[str, Call] = {"start": start}
        self._most_deaths = count + MOST_DEATHS
        self._deaths, self._numbers = 0, count_up()
        self.members: dict[int, Member] = {}
        self.places: dict[int, Place] = {}
        self.fill(count)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for member in self.members.values():
            self._ray.kill(member.handle)

    def __len__(self) -> int:
        return len(self.members)

    def broadcast(self, name: str, call: Call) -> None:
        """Makes a call to every worker now, and to each replacement; it replaces an earlier call of that name."""
        self._broadcasts[name] = call
        self._answers(list(self.members.values()), call)

    def retract(self, *names: str) -> None:
        """Ends these broadcasts: replacements do not need them any more."""
        for name in names:
            self._broadcasts.pop(name, None)

    def fill(self, count: int) -> None:
        """Starts ``count`` workers, and makes all broadcasts to them."""
        started = [Member(next(self._numbers), self._actor.remote()) for _ in range(count)]
        self.members |= {member.number: member for member in started}
        for name, call in self._broadcasts.items():
            answers = self._answers([member for member in started if member.number in self.members], call)
            if name == "start":
                self.places |= answers

    def dismiss(self, number: int, reason: object) -> None:
        """Replaces a worker that is dead or can no longer be relied on."""
        if number not in self.members:
            return
        self._ray.kill(self.members.pop(number).handle)
        place = self.places.pop(number, None)
        self._deaths += 1
        if self._deaths > self._most_deaths:
            where = f" (process {place.process} on {place.host})" if place else ""
            raise EngineError(f"{self._deaths} workers died, the last one{where} of this: {reason}")
        self.fill(1)

    def answer(self, reference: Any) -> Any:
        """The answer of a worker; ``WorkerLost`` where there will be none, and the error that the worker raised."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, MemoryError):
                raise WorkerLost(f"it ran out of memory ({error.cause})") from None
            if isinstance(error.cause, errors.RayError):  # what another worker should have given it is lost
                raise WorkerLost(first_line(error.cause)) from None
            raise failure(error, "a worker") from error
        except errors.RayError as error:
            if "creation task" in str(error):  # it would fail anywhere else, too
                raise failure(error, "a worker") from error
            raise WorkerLost(first_line(error)) from None

    def first(self, waiting: Iterable[Any]) -> Any:
        """The first of these references to have an answer."""
        (ready, *_), _ = self._ray.wait(list(waiting), num_returns=1)
        return ready

    def idlest(self, busy: Iterable[int]) -> Member:
        """The worker with the fewest requests; ``busy`` has the number of a worker for each request."""
        load = Counter(busy)
        return min(self.members.values(), key=lambda member: load[member.number])

    def map(self, ask: Callable[[Any, Item], Any], items: Iterable[Item]) -> Iterator[tuple[Item, Any]]:
        """The answers of workers for the items, in any order; an item whose worker dies is given to another one.

        Only for requests that change nothing, because one may be repeated.
        """
        waiting: dict[Any, tuple[int, Item]] = {}
        ahead = iter(items)
        again: list[Item] = []
        while True:
            while len(waiting) < AHEAD * len(self):
                try:
                    item = again.pop() if again else next(ahead)
                except StopIteration:
                    break
                member = self.idlest(number for number, _ in waiting.values())
                waiting[ask(member.handle, item)] = member.number, item
            if not waiting:
                return
            reference = self.first(waiting)
            number, item = waiting.pop(reference)
            try:
                answer = self.answer(reference)
            except WorkerLost as lost:
                self.dismiss(number, lost)
                again.append(item)
            else:
                yield item, answer

    def _answers(self, members: list[Member], call: Call) -> dict[int, Any]:
        """The answers of the workers that are alive to give one."""
        asked = [(member, call(member.handle)) for member in members]
        answers = {}
        for member, reference in asked:
            try:
                answers[member.number] = self.answer(reference)
            except WorkerLost as lost:
                self.dismiss(member.number, lost)
        return answers
