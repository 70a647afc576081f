"""What a model file says of its own past: when what was learned, which changes were made, and how many."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from foro.labels import check_label
from foro.types import Label

MOST_EVENTS = 1000
"""More are told by the day, and by the month where that is not enough."""

MOST_LABELS = 20
"""Labels that one event names."""

MOST_KEYS = 10_000

MOST_BEFORE = 1000
"""Earlier states that are named, whether they are kept or not."""

Place = tuple[str, int]
"""A state: the stamp of the model file that it goes on from, and the sequence of its last change."""

MOST_MEASURED = 500
"""Points of the curve of accuracy; of more, every other one of the older half goes."""


@dataclass(frozen=True)
class Event:
    """Something that changed what a learner knows.

    ``labels`` has the labels with the most samples, and how many; ``classes`` is the number of all of them. ``times``
    is more than 1 where several such events are told as one, ``when`` is then the time of the last.
    """

    when: str
    what: str  # learn, unlearn, forget, restore, rename or merge
    samples: int
    classes: int
    labels: tuple[tuple[Label, int], ...] = ()
    times: int = 1

    @classmethod
    def of(cls, what: str, counts: dict[Label, int], when: str | None = None) -> Event:
        """An event of so many samples of each label, now or at a time that was written down."""
        largest = tuple(Counter(counts).most_common(MOST_LABELS))
        return cls(when or now(), what, sum(counts.values()), len(counts), largest)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Event:
        """The event of which ``asdict`` made this."""
        labels = tuple((check_label(label), int(count)) for label, count in content["labels"])
        samples, classes, times = (int(content[name]) for name in ("samples", "classes", "times"))
        return cls(_time(content["when"]), str(content["what"]), samples, classes, labels, times)

    def joined(self, later: Event) -> Event:
        """This event and a later one of its kind as one."""
        counts = Counter(dict(self.labels))
        counts.update(dict(later.labels))
        whole = self.classes <= len(self.labels) and later.classes <= len(later.labels)
        return replace(
            later,
            samples=self.samples + later.samples,
            classes=len(counts) if whole else max(self.classes, later.classes, len(counts)),
            labels=tuple(counts.most_common(MOST_LABELS)),
            times=self.times + later.times,
        )


@dataclass
class Ledger:
    """The past of a learner; it grows with the labels that are known, and with nothing else.

    ``stamp`` names what was last read or written, ``previous`` what that replaced, and ``sequence`` counts the changes
    that went through a journal: together they tell which records of a journal a model file already has.
    """

    stamp: str = field(default_factory=lambda: new_stamp())
    previous: str | None = None
    sequence: int = 0
    events: list[Event] = field(default_factory=list)
    taught: dict[Label, str] = field(default_factory=dict)  # when each label was last learned
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    measured: list[tuple[str, float, int]] = field(default_factory=list)  # when, accuracy to expect, samples
    before: list[Place] = field(default_factory=list)  # the states before each of the last changes

    def add(self, event: Event, labels: Iterable[Label] = ()) -> None:
        """Writes an event down; ``labels`` are all those that it taught. Only ``advance`` says what was before it."""
        self.before = []
        self.events.append(event)
        if len(self.events) > MOST_EVENTS:
            self.events = _compact(self.events)
        self.taught.update(dict.fromkeys(labels, event.when))

    def rename(self, label: Label, to: Label) -> None:
        """Takes over when a label was last learned, for one that it is called from now on; what has happened stays."""
        times = [self.taught.pop(each) for each in (label, to) if each in self.taught]
        self.taught.update({to: max(times)} if times else {})

    @property
    def places(self) -> list[Place]:
        """The states before each of the last changes, and the present one."""
        return [*self.before, (self.stamp, self.sequence)]

    def advance(self, sequence: int, before: list[Place]) -> None:
        """A change was made that has this number; ``before`` are the ``places`` until then."""
        self.before, self.sequence = before[-MOST_BEFORE:], sequence

    def remember(self, key: str | None, result: dict[str, Any]) -> None:
        """Keeps what came of a change under its key, which is then never made again."""
        if key is None:
            return
        self.keys[key] = result
        while len(self.keys) > MOST_KEYS:
            del self.keys[next(iter(self.keys))]

    def measure(self, accuracy: float, samples: int) -> None:
        """Writes down the accuracy that is to be expected after so many samples."""
        self.recall([(now(), accuracy, samples)])

    def recall(self, measured: Sequence[Sequence[Any]]) -> None:
        """Adds what was measured at some time, unless it is known."""
        for when, accuracy, samples in measured:
            if (when, accuracy, samples) not in self.measured[-1:]:
                self.measured.append((when, accuracy, samples))
        if len(self.measured) > MOST_MEASURED:
            half = len(self.measured) // 2
            self.measured = self.measured[:half:2] + self.measured[half:]

    def state(self, labels: Sequence[Label]) -> dict[str, Any]:
        """What to store, JSON-ready, with a stamp of its own; times of the given labels only."""
        known = set(labels)
        return {
            "stamp": new_stamp(),
            "previous": self.stamp,
            "sequence": self.sequence,
            "events": [asdict(event) for event in self.events],
            "taught": [[label, when] for label, when in self.taught.items() if label in known],
            "keys": self.keys,
            "measured": self.measured,
            "before": self.before,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Ledger:
        """The ledger whose ``state`` this is."""
        events = [Event.from_dict(event) for event in state["events"]]
        taught: dict[Label, str] = {check_label(label): _time(when) for label, when in state["taught"]}
        measured = [(_time(when), float(accuracy), int(samples)) for when, accuracy, samples in state["measured"]]
        before = [(_stamp(stamp), int(sequence)) for stamp, sequence in state.get("before", [])]
        stamp, previous, sequence = _stamp(state["stamp"]), state["previous"], int(state["sequence"])
        return cls(stamp, previous, sequence, events, taught, dict(state["keys"]), measured, before)


def now() -> str:
    """The time in UTC, to the second, as ISO 8601 writes it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _time(text: Any) -> str:
    """A time as ``now`` writes it, or an error."""
    datetime.fromisoformat(text)
    return str(text)


def _stamp(text: Any) -> str:
    """A stamp, which is a part of the names of files, or an error."""
    if not isinstance(text, str) or not text.isalnum():
        raise ValueError(f"{text!r} is no stamp")
    return text


def new_stamp() -> str:
    """A name that nothing else has."""
    return secrets.token_hex(8)


def _compact(events: list[Event]) -> list[Event]:
    """The older half with one event of a kind for each day, or for each month if that is still too many."""
    half = len(events) // 2
    older = events[:half]
    for digits in (len("2026-01-31"), len("2026-01")):
        joined: dict[tuple[str, str], Event] = {}
        for event in older:
            name = event.when[:digits], event.what
            joined[name] = joined[name].joined(event) if name in joined else event
        older = list(joined.values())
        if len(older) <= MOST_EVENTS // 4:
            break
    return older[-MOST_EVENTS // 4 :] + events[half:]
