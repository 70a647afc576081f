"""Labelled images as a user has them: a folder of class folders, a table of paths and labels, or a stream of lines."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from foro.errors import DataError
from foro.images.class_folders import read_class_folders
from foro.images.samples import Samples

if TYPE_CHECKING:
    from foro.types import Label

SEPARATORS = {".csv": ",", ".tsv": "\t"}
LINES = {".jsonl", ".ndjson"}
COLUMNS = ("path", "label")


def read_labelled(source: str | os.PathLike[str]) -> Samples:
    """Images and their labels, which are text whatever they look like.

    A folder has one folder of images for each class. A ``.csv`` or ``.tsv`` file has the columns path and label, named
    in its first line or in this order; a ``.jsonl`` file has objects with path and label. Paths are relative to it.
    """
    path = check_labelled(source)
    if path.is_dir():
        return read_class_folders(path)
    ending = path.suffix.lower()
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = _table(path, file, SEPARATORS[ending]) if ending in SEPARATORS else _objects(str(path), file)
            samples = _samples(rows, path.parent)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8") from None
    if not len(samples):
        raise DataError(f"{path} names no images")
    return samples


def check_labelled(source: str | os.PathLike[str]) -> Path:
    """Where the images are said to be, or an error at once, before anything that takes time."""
    path = Path(source)
    if not path.exists():
        raise DataError(f"there is no folder or file {path}")
    if not path.is_dir() and path.suffix.lower() not in {*SEPARATORS, *LINES}:
        raise DataError(f"{path} is not a folder of class folders, nor a .csv, .tsv or .jsonl file")
    return path


def stream_labelled(lines: Iterable[str | bytes], name: str, size: int) -> Iterator[Samples]:
    """JSON lines with path and label, at most ``size`` at a time; ``name`` says in errors where they come from."""
    rows = _objects(name, lines)
    while len(samples := _samples(islice(rows, size), Path())):
        yield samples


def _samples(rows: Iterable[tuple[str, str]], folder: Path) -> Samples:
    images: list[Path] = []
    labels: list[Label] = []
    for path, label in rows:
        images.append(folder / path)
        labels.append(label)
    return Samples(images, labels)


def _table(path: Path, file: TextIO, separator: str) -> Iterator[tuple[str, str]]:
    reader = csv.reader(file, delimiter=separator)
    places: tuple[int, int] | None = None
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if places is None:
                names = [cell.strip().lower() for cell in row]
                if all(column in names for column in COLUMNS):
                    places = names.index("path"), names.index("label")
                    continue
                if len(row) != 2 or any(column in names for column in COLUMNS):
                    raise DataError(f"{path} has no columns path and label: its first line has {', '.join(row)}")
                places = 0, 1
            if len(row) <= max(places) or not row[places[0]] or not row[places[1]]:
                raise DataError(f"line {reader.line_num} of {path} has no path or no label")
            yield row[places[0]], row[places[1]]
    except csv.Error as error:
        raise DataError(f"line {reader.line_num} of {path} cannot be read: {error}") from None


def _objects(name: str, lines: Iterable[str | bytes]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"line {number} of {name} is not JSON") from None
        path, label = (row.get(column) for column in COLUMNS) if isinstance(row, dict) else (None, None)
        if not isinstance(path, str) or not path:
            raise DataError(f'line {number} of {name} has no path: it should be like {{"path": …, "label": …}}')
        if isinstance(label, bool) or not isinstance(label, (str, int)) or label == "":
            raise DataError(f"line {number} of {name} has no label, which should be text")
        yield path, str(label)
