"""Every image counts once, even when workers die: shards to statistics, and statistics to one sum.

The rules that make it so:

1. A shard counts when a worker confirms that its statistics hold it, and only while that worker lives.
2. When a worker dies, everything it held is missing again, and is read again for other workers.
3. What a worker hands over leaves it. The hand-over counts when the receiver confirms it; if either of the two fails
   before, what both held is missing again.

So at any time every shard is held by at most one living worker. No checkpoint is needed: all other workers share what a
dead one held, so with W workers a death costs at most 1/W of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from foro.cluster.pool import AHEAD, Pool, WorkerLost
from foro.errors import InputError
from foro.heads.ridge import KnowledgeEncoder
from foro.util.progress import Advance

Read = Callable[[Iterable[int]], Iterator[Any]]
"""References to the decoded blocks of some shards."""


class Holdings:
    """Who holds which shard."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self._held: dict[int, dict[int, int]] = {}  # worker → shard → images

    def credit(self, worker: int, shard: int, images: int) -> None:
        """A worker holds one more shard."""
        if any(shard in held for held in self._held.values()):
            raise AssertionError(f"shard {shard} was counted twice")
        self._held.setdefault(worker, {})[shard] = images

    def move(self, giver: int, taker: int) -> None:
        """Everything that one worker held is with another."""
        self._held[taker].update(self._held.pop(giver))

    def lose(self, worker: int) -> int:
        """What a worker held is missing again; returns the number of images."""
        return sum(self._held.pop(worker, {}).values())

    @property
    def holders(self) -> list[int]:
        """Workers that hold anything."""
        return sorted(self._held)

    def missing(self, before: int) -> list[int]:
        """Shards below ``before`` that no worker holds."""
        held = set().union(*self._held.values())
        return [shard for shard in range(before) if shard not in held]


class Counting:
    """Has all shards of a task absorbed and added up by the workers of a pool."""

    def __init__(self, pool: Pool, shards: int, read: Read, advance: Advance) -> None:
        self._pool, self._read, self._advance = pool, read, advance
        self._holdings = Holdings(shards)
        self._bad: tuple[int, str] | None = None  # the first shard with a bad image, and what is wrong with the image

    def total(self) -> KnowledgeEncoder:
        """What was learned from all shards, without the projection.

        The first bad image in the order of the shards is reported, as a single process would do.
        """
        while True:
            needed = self._holdings.shards if self._bad is None else self._bad[0]
            if missing := self._holdings.missing(needed):
                self._absorb(missing)
            elif self._bad is not None:
                raise InputError(self._bad[1])
            elif (learned := self._reduce()) is not None:
                return learned

    def _absorb(self, shards: list[int]) -> None:
        """Has these shards absorbed, except those whose worker dies."""
        waiting: dict[Any, int] = {}
        for block in self._read(shards):
            while len(waiting) >= AHEAD * len(self._pool):
                self._settle_one(waiting)
            if self._bad is not None:
                break
            member = self._pool.idlest(waiting.values())
            waiting[member.handle.absorb.remote(block)] = member.number
        while waiting:
            self._settle_one(waiting)

    def _settle_one(self, waiting: dict[Any, int]) -> None:
        """Handles the next answer of any worker."""
        reference = self._pool.first(waiting)
        worker = waiting.pop(reference)
        try:
            absorbed = self._pool.answer(reference)
        except WorkerLost as lost:
            for other in [each for each, number in waiting.items() if number == worker]:
                del waiting[other]
            self._lose(worker, lost)
            return
        if absorbed.bad is None:
            self._holdings.credit(worker, absorbed.shard, absorbed.images)
            self._advance(absorbed.images)
        elif self._bad is None or absorbed.shard < self._bad[0]:
            self._bad = absorbed.shard, absorbed.bad

    def _reduce(self) -> KnowledgeEncoder | None:
        """The sum of everything that workers hold, or None if one of them was lost on the way.

        In every round half of the workers hand their statistics over to the other half, which adds them in place: each
        worker's statistics travel once, and no worker ever holds more than two.
        """
        pool = self._pool
        while len(holders := self._holdings.holders) > 1:
            taken = {}
            for taker, giver in zip(holders[::2], holders[1::2], strict=False):
                handed = pool.members[giver].handle.hand_over.remote()
                taken[pool.members[taker].handle.take_over.remote(handed)] = giver, taker
            for reference, (giver, taker) in taken.items():
                try:
                    pool.answer(reference)
                    self._holdings.move(giver, taker)
                except WorkerLost as lost:
                    self._lose(giver, lost)
                    self._lose(taker, lost)
            if self._holdings.missing(self._holdings.shards):
                return None
        (last,) = self._holdings.holders
        try:
            learned: KnowledgeEncoder = pool.answer(pool.members[last].handle.hand_over.remote())
        except WorkerLost as lost:
            self._lose(last, lost)
            return None
        return learned

    def _lose(self, worker: int, reason: WorkerLost) -> None:
        self._advance(-self._holdings.lose(worker))
        self._pool.dismiss(worker, reason)
