"""Bars: rows of one display on a terminal, nothing elsewhere."""

from __future__ import annotations

import pytest
from rich.console import Console

from foro.util import progress
from foro.util.progress import progress_bar, without_bars


def rows() -> list[tuple[str, float]]:
    display = progress._DISPLAY.get()
    return [] if display is None else [(task.description, task.completed) for task in display.tasks]


def test_a_bar_within_a_bar_is_another_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Console, "is_terminal", property(lambda _self: True))
    with progress_bar("all", 4) as outer:
        outer(1)
        with progress_bar("one", 2) as inner:
            inner(1)
            inner(1)
            assert rows() == [("all", 1), ("one", 2)]
        outer(2)
        assert rows() == [("all", 3)]
    assert rows() == []


def test_silent_without_a_terminal_and_for_a_single_step(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("all", 4) as advance:
        advance(4)
        assert rows() == []
    monkeypatch.setattr(Console, "is_terminal", property(lambda _self: True))
    with progress_bar("one", 1) as advance:
        advance(1)
        assert rows() == []
    assert capfd.readouterr() == ("", "")


def test_a_process_that_works_for_another_one_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Console, "is_terminal", property(lambda _self: True))
    with without_bars(), progress_bar("all", 4) as advance:
        advance(4)
        assert rows() == []
    with progress_bar("all", 4):
        assert rows() == [("all", 0)]
