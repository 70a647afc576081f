"""A result on disk: one JSON file for each run, with everything that was measured and is needed to repeat it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError
from foro.evaluation import continual as metrics
from foro.research.protocol.spec import Tasks
from foro.util.atomic_files import write_whole

FORMAT = "foro-experiment"


@dataclass(frozen=True)
class Record:
    """A complete run, as stored in ``path``."""

    path: Path
    content: dict[str, Any]

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """a_{j,t} as a matrix (T, T), NaN where task t was not learned yet."""
        return _matrix(self.content["accuracy"])

    @property
    def tasks(self) -> Tasks:
        """How many tasks the stream had, or how many classes each of them."""
        tasks = self.content["stream"]["tasks"]
        return tasks if isinstance(tasks, int) else tuple(tasks)

    @property
    def mixing(self) -> tuple[float, float]:
        """Share of each class that came in other tasks, and how many times larger the largest class was."""
        stream = self.content["stream"]
        return stream["blur"], stream.get("imbalance", 1.0)

    @property
    def results(self) -> dict[str, float]:
        """Every metric by name: accuracies as fractions."""
        results: dict[str, float] = self.content["results"]
        return results

    @property
    def learning_seconds(self) -> float | None:
        """Seconds of learning all tasks; None where features came from the cache, which makes them meaningless."""
        stages = self._stages("learn")
        return None if any(stage["cached_passes"] for stage in stages) else sum(stage["seconds"] for stage in stages)

    @property
    def learning_cpu_seconds(self) -> float | None:
        """Processor seconds of learning all tasks, which other work on the machine does not lengthen much."""
        stages = self._stages("learn")
        known = self.learning_seconds is not None and all("cpu_seconds" in stage for stage in stages)
        return sum(stage["cpu_seconds"] for stage in stages) if known else None

    @property
    def own_process(self) -> bool:
        """Whether the process of this run did no other run."""
        return bool(self.content.get("alone"))

    @property
    def peak_megabytes(self) -> float | None:
        """Peak memory of the process while it learned; None where it had done other runs, whose memory would count."""
        peaks = [stage["peak_megabytes"] for stage in self._stages("learn")]
        return max(peaks) if self.own_process and None not in peaks else None

    def passes_per_sample(self, direction: str = "forward") -> float:
        """Passes through the backbone per learned image: ``forward`` or ``backward``."""
        passes = sum(stage[f"{direction}_passes"] for stage in self._stages("learn"))
        return float(passes / sum(task["train_images"] for task in self.content["tasks"]))

    def _stages(self, kind: str) -> list[dict[str, Any]]:
        return [task[kind] for task in self.content["tasks"]]


def results_of(accuracy: list[list[float]], test_images: list[int]) -> dict[str, float]:
    """All metrics of an accuracy matrix given by its rows of growing length."""
    matrix = _matrix(accuracy)
    return {
        "average_accuracy": metrics.average_accuracy(matrix),
        "average_forgetting": metrics.average_forgetting(matrix),
        "average_incremental_accuracy": metrics.average_incremental_accuracy(matrix),
        "last_accuracy": metrics.last_accuracy(matrix, test_images),
        "backward_transfer": metrics.backward_transfer(matrix),
    }


def _matrix(rows: list[list[float]]) -> NDArray[np.float64]:
    matrix = np.full((len(rows), len(rows)), np.nan)
    for now, row in enumerate(rows):
        matrix[now, : len(row)] = row
    return matrix


def read_record(path: Path) -> Record:
    """The record of a file."""
    content = read_json(path)
    if content.get("format") != FORMAT:
        raise InputError(f"{path} is not the result of an experiment")
    return Record(path, content)


def read_records(folder: Path, wanted: Callable[[Record], bool] = lambda _record: True) -> list[Record]:
    """Every complete run in a folder, by file name; other JSON files are ignored."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; results are written by: foro experiment run")
    contents = ((path, read_json(path)) for path in sorted(folder.glob("*.json")))
    records = [Record(path, content) for path, content in contents if content.get("format") == FORMAT]
    return [record for record in records if wanted(record)]


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file's object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{path} is damaged; remove it to run this experiment again") from None
    return content if isinstance(content, dict) else {}


def write_text(path: Path, text: str) -> None:
    """Writes a text file that is there whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file that is there whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    write_whole(path, [data], InputError)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes an object as JSON, whole or not at all."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
