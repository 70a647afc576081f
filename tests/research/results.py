"""Results as if they had been run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foro.research.protocol.method_catalog import find_method
from foro.research.protocol.record import FORMAT, Record, results_of, write_json
from foro.research.studies.study import Request

TIMES = {"seconds", "cpu_seconds", "peak_megabytes", "started", "finished"}


def without_times(value: Any) -> Any:
    """A result without what no two runs have in common."""
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if name not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def made_up(
    request: Request, seed: int, accuracy: float = 0.8, folder: Path = Path("made-up"), cached: int = 0, **changes: Any
) -> Record:
    """A record of what was asked for, in which every accuracy is the same."""
    tasks = request.tasks
    assert isinstance(tasks, int)
    rows = [[accuracy] * (now + 1) for now in range(tasks)]
    tests = [10] * tasks
    stage = {"seconds": 2.0, "cpu_seconds": 1.5, "peak_megabytes": 100.0 + seed, "cached_passes": cached}
    learn = {**stage, "forward_passes": 40, "backward_passes": 0, "note": None}
    content = {
        "format": FORMAT,
        "schema": 1,
        "command": f"foro experiment run --seeds {seed} <&>",
        "method": request.method,
        "settings": find_method(request.method).resolve(request.settings),
        "overrides": dict(request.settings),
        "common": {},
        "seed": seed,
        "data": {
            "name": request.dataset,
            "title": request.dataset.upper(),
            "description": f"{request.dataset}: 50 of 500 train images a class",
            "fingerprint": request.dataset,
            "classes": 100,
            "train_images": 20 * tasks,
            "test_images": 10 * tasks,
            "complete": False,
            "train_per_class": 50,
            "test_per_class": 20,
            "skipped_images": 0,
        },
        "stream": {
            "tasks": request.tasks,
            "blur": 0.0,
            "description": f"{request.dataset}; {request.tasks} tasks, class order",
        },
        "backbone": {"name": "nano", "source": "nano", "fingerprint": "f" * 64, "image_size": 64, "preprocessing": {}},
        "versions": {"foro": "0"},
        "machine": {"cores": 2},
        "alone": True,
        "started": "then",
        "finished": "now",
        "accuracy": rows,
        "tasks": [{"labels": [], "train_images": 20, "test_images": 10, "learn": learn, "test": stage}] * tasks,
        "results": results_of(rows, tests),
    }
    content.update(changes)
    values = "-".join(map(str, request.settings.values()))
    record = Record(folder / f"{request.dataset}-{tasks}-{request.method}-{seed}-{values}.json", content)
    if folder.is_dir():
        write_json(record.path, content)
    return record
