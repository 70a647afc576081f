from __future__ import annotations

import sys
from pathlib import Path

import pytest

from foro.util.cache_dir import cache_dir


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORO_CACHE", "~/mine")
    assert cache_dir() == Path.home() / "mine"
    monkeypatch.setenv("FORO_CACHE", "")
    for platform, variable in (("win32", "LOCALAPPDATA"), ("linux", "XDG_CACHE_HOME")):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setenv(variable, str(tmp_path))
        assert cache_dir() == tmp_path / "foro"
        monkeypatch.delenv(variable)
        assert cache_dir() == Path.home() / ".cache" / "foro"
