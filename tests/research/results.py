"""Results as if they had been run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foro.research.methods.method import find_method
from foro.research.protocol.record import FORMAT, Record, results_of, write_json
from foro.research.studies.study import Ask

TIMES = {"seconds", "peak_megabytes", "started", "finished"}


def without_times(value: Any) -> Any:
    """A result without what no two runs have in common."""
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if name not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def made_up(
    ask: Ask, seed: int, accuracy: float = 0.8, folder: Path = Path("made-up"), cached: int = 0, **changes: Any
) -> Record:
    """A record of what was asked for, in which every accuracy is the same."""
    assert isinstance(ask.tasks, int)
    rows = [[accuracy] * (now + 1) for now in range(ask.tasks)]
    tests = [10] * ask.tasks
    stage = {"seconds": 2.0, "peak_megabytes": 100.0 + seed, "cached_passes": cached}
    learn = {**stage, "forward_passes": 40, "backward_passes": 0, "note": None}
    content = {
        "format": FORMAT,
        "schema": 1,
        "command": f"foro experiment run --seeds {seed} <&>",
        "method": ask.method,
        "settings": find_method(ask.method).resolve(ask.settings),
        "overrides": dict(ask.settings),
        "common": {},
        "seed": seed,
        "data": {
            "name": ask.dataset,
            "title": ask.dataset.upper(),
            "description": f"{ask.dataset}: 50 of 500 train images a class",
            "fingerprint": ask.dataset,
            "classes": 100,
            "train_images": 20 * ask.tasks,
            "test_images": 10 * ask.tasks,
            "complete": False,
            "train_per_class": 50,
            "test_per_class": 20,
            "skipped_images": 0,
        },
        "stream": {"tasks": ask.tasks, "blur": 0.0, "description": f"{ask.dataset}; {ask.tasks} tasks, class order"},
        "backbone": {"name": "nano", "source": "nano", "fingerprint": "f" * 64, "image_size": 64, "preprocessing": {}},
        "versions": {"foro": "0"},
        "machine": {"cores": 2},
        "alone": True,
        "started": "then",
        "finished": "now",
        "accuracy": rows,
        "tasks": [{"labels": [], "train_images": 20, "test_images": 10, "learn": learn, "test": stage}] * ask.tasks,
        "results": results_of(rows, tests),
    }
    content.update(changes)
    name = f"{ask.dataset}-{ask.tasks}-{ask.method}-{seed}-{'-'.join(map(str, ask.settings.values()))}.json"
    record = Record(folder / name, content)
    if folder.is_dir():
        write_json(record.path, content)
    return record
