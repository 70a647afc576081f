"""The living workers: who they are, what each must know, and another one for each that dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from foro.cluster.connection import connect, failure
from foro.cluster.worker import Place, Worker
from foro.errors import EngineError, first_line

Item = TypeVar("Item")
Call = Callable[[Any], Any]
"""Asks a worker, by its handle, for something, and returns the reference to its answer."""

AHEAD = 2
"""Requests that a worker has at most: the one it is at, and one whose data can travel meanwhile."""

MOST_DEATHS = 5
"""Workers that may die, beyond one for each place in the pool, before it is no longer called bad luck."""


class WorkerLost(Exception):
    """A worker has died, or cannot be relied on any more, with all that it has learned."""


@dataclass(frozen=True)
class Member:
    """A worker of the pool. A number is never used twice: one who replaces another is somebody else."""

    number: int
    handle: Any


class Pool:
    """Workers that have all been told the same; used as a context, whose end is theirs."""

    def __init__(self, count: int, gpus_per_worker: float, threads: int, start: Call) -> None:
        self._ray = connect()
        # Never restarted and never asked again by Ray itself: it cannot know what a worker has counted already.
        options: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        options["runtime_env"] = {"env_vars": {"OMP_NUM_THREADS": str(threads)}}  # or Ray would allow a single one
        if gpus_per_worker:
            options["num_gpus"] = gpus_per_worker
        self._hire = self._ray.remote(Worker).options(**options)
        self._told: dict[str, Call] = {"start": start}
        self._most_deaths = count + MOST_DEATHS
        self._deaths = self._hired = 0
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

    def tell(self, what: str, call: Call) -> None:
        """Tells something to every worker, and to whoever replaces one; it replaces what was told before."""
        self._told[what] = call
        self._answers(list(self.members.values()), call)

    def untell(self, *what: str) -> None:
        """Whoever is hired from now on need not know these things."""
        for each in what:
            self._told.pop(each, None)

    def fill(self, count: int) -> None:
        """Hires as many workers, and tells them what all know."""
        hired = []
        for _ in range(count):
            hired.append(Member(self._hired, self._hire.remote()))
            self._hired += 1
        for member in hired:
            self.members[member.number] = member
        for what, call in self._told.items():
            living = [member for member in hired if member.number in self.members]
            answers = self._answers(living, call)
            if what == "start":
                self.places |= answers

    def dismiss(self, number: int, reason: object) -> None:
        """Puts another worker in the place of one that is dead or must not be relied on any more."""
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
        """The answer of a worker; ``WorkerLost`` where there will be none, and its own error where it made one."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, MemoryError):
                raise WorkerLost(f"it ran out of memory ({error.cause})") from None
            if isinstance(error.cause, errors.RayError):  # what another worker was to give it is lost
                raise WorkerLost(first_line(error.cause)) from None
            raise failure(error, "a worker") from error
        except errors.RayError as error:
            if "creation task" in str(error):  # it would not fare better anywhere else
                raise failure(error, "a worker") from error
            raise WorkerLost(first_line(error)) from None

    def first(self, waiting: Iterable[Any]) -> Any:
        """The first of these references to have an answer."""
        (ready, *_), _ = self._ray.wait(list(waiting), num_returns=1)
        return ready

    def idlest(self, busy: Iterable[int]) -> Member:
        """Who has the least to do, where each number of a member stands for something to do."""
        load = Counter(busy)
        return min(self.members.values(), key=lambda member: load[member.number])

    def map(self, ask: Callable[[Any, Item], Any], items: Iterable[Item]) -> Iterator[tuple[Item, Any]]:
        """What workers answer for each item, in any order; an item whose worker dies is given to another.

        Only for questions that change nothing: they may be asked twice.
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
        """The answers of those who live to give one."""
        asked = [(member, call(member.handle)) for member in members]
        answers = {}
        for member, reference in asked:
            try:
                answers[member.number] = self.answer(reference)
            except WorkerLost as lost:
                self.dismiss(member.number, lost)
        return answers
