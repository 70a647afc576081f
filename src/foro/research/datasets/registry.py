"""Data sets by name: each is one file in this folder with one decorated function."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from foro.errors import DataError
from foro.research.datasets.archive import Archive
from foro.research.datasets.dataset import Dataset

DataDir = str | os.PathLike[str] | None
Loader = Callable[[DataDir], Dataset]


@dataclass(frozen=True)
class DatasetEntry:
    """A data set that can be loaded; ``archive`` is what would be downloaded, if anything."""

    name: str
    summary: str
    load: Loader
    archive: Archive | None


_ENTRIES: dict[str, DatasetEntry] = {}


def register(name: str, archive: Archive | None = None) -> Callable[[Loader], Loader]:
    """Makes a function that returns a data set available by name; the first line of its docstring is the summary."""

    def decorate(loader: Loader) -> Loader:
        if name in _ENTRIES:
            raise DataError(f"a data set named {name!r} is already registered")
        summary = (loader.__doc__ or "").strip().partition("\n")[0].removesuffix(".")
        _ENTRIES[name] = DatasetEntry(name, summary, loader, archive)
        return loader

    return decorate


def list_datasets() -> list[DatasetEntry]:
    """Every registered data set, by name."""
    _import_all()
    return [_ENTRIES[name] for name in sorted(_ENTRIES)]


def load_dataset(name: str | os.PathLike[str], data_dir: DataDir = None) -> Dataset:
    """A data set by its registered name, or any image folder by its path.

    ``data_dir`` is a folder in the official layout, or the one that contains it; without it a published data set is
    downloaded once into the cache.
    """
    _import_all()
    if isinstance(name, str) and name in _ENTRIES:
        return _ENTRIES[name].load(data_dir)
    if data_dir is None and Path(name).is_dir():
        return _ENTRIES["folder"].load(name)
    close = get_close_matches(str(name), list(_ENTRIES), n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(sorted(_ENTRIES))}, or an image folder"
    raise DataError(f"there is no data set {str(name)!r}; {hint}")


@cache
def _import_all() -> None:
    package = import_module("foro.research.datasets")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
