"""What every test of this room needs."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers of these tests are on this machine, whatever stands between it and the others."""
    monkeypatch.setenv("no_proxy", "*")
