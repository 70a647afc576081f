"""The past of a model: bounded, compact, and the same after it was stored."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from foro import ledger as module
from foro.ledger import Event, Ledger

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def at(hours: float) -> str:
    return (START + timedelta(hours=hours)).isoformat(timespec="seconds")


def test_an_event_names_the_largest_labels_and_counts_all() -> None:
    event = Event.of("learn", {f"class {number}": number + 1 for number in range(50)}, at(0))
    assert (event.samples, event.classes, len(event.labels)) == (1275, 50, 20)
    assert event.labels[0] == ("class 49", 50)
    assert Event.of("forget", {7: 3}).labels == ((7, 3),)


def test_state_is_json_and_comes_back_with_another_stamp() -> None:
    ledger = Ledger()
    ledger.add(Event.of("learn", {"cat": 2, 5: 1}, at(0)), ["cat", 5])
    ledger.remember("key", {"what": "learn"})
    ledger.measure(0.5, 3)
    ledger.sequence = 7
    state = json.loads(json.dumps(ledger.state(["cat"])))
    again = Ledger.from_state(state)
    assert (again.events, again.keys, again.sequence) == (ledger.events, ledger.keys, 7)
    assert again.taught == {"cat": at(0)}  # only of labels that are asked for
    assert (again.previous, again.stamp != ledger.stamp) == (ledger.stamp, True)
    assert [row[1:] for row in again.measured] == [(0.5, 3)]


def test_a_long_log_stays_short_and_loses_no_count() -> None:
    ledger = Ledger()
    for number in range(9_000):  # every three hours for three years
        ledger.add(Event.of("learn" if number % 3 else "unlearn", {f"class {number % 30}": 2}, at(3 * number)))
        assert len(ledger.events) <= module.MOST_EVENTS
    assert sum(event.samples for event in ledger.events) == 18_000
    assert sum(event.times for event in ledger.events) == 9_000
    whens = [event.when for event in ledger.events]
    assert whens[-1] == at(3 * 8_999)
    assert all(event.times == 1 for event in ledger.events[-400:])
    assert max(event.classes for event in ledger.events) == 20  # those that were learned
    assert len(json.dumps(ledger.state([]))) < 400_000


def test_only_the_latest_keys_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEYS", 3)
    ledger = Ledger()
    for key in "abcd":
        ledger.remember(key, {"what": key})
    ledger.remember(None, {"what": "x"})
    assert list(ledger.keys) == ["b", "c", "d"]
