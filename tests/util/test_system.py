from __future__ import annotations

import sys
from pathlib import Path

import pytest

from foro.util.system import cache_dir


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORO_CACHE", "~/mine")
    assert cache_dir() == Path.home() / "mine"
    monkeypatch.setenv("FORO_CACHE", "")
    assert cache_dir().name == "foro"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
def test_on_linux_it_is_where_caches_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FORO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "foro"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path.home() / ".cache" / "foro"
