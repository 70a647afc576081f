"""One run: task after task, resumable after each, with everything it took in one file."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from foro.errors import FoRoError
from foro.features.cache import FeatureCache
from foro.images.task_images import TaskImages
from foro.research.methods.method import Method, Settings
from foro.research.protocol.experiment_setup import SCHEMA, Setup
from foro.research.protocol.machine import machine, measured, versions
from foro.research.protocol.method_catalog import find_method
from foro.research.protocol.record import FORMAT, Record, read_json, read_record, results_of, write_json
from foro.research.protocol.spec import RunSpec, json_tasks
from foro.research.protocol.streams import Stream, Task
from foro.util.lock import locked
from foro.util.progress import Advance, progress_bar

WORK = "unfinished"
"""Folder of the incomplete runs, inside the folder of the results."""

SAVE_RATIO = 5.0
"""A checkpoint is written when the tasks since the last one took this many times longer than writing it (300 MB)."""

SAVE_SECONDS = 0.4
"""Saving is assumed to take at least this long, so that quick runs are not saved halfway."""


@dataclass(frozen=True)
class Runner:
    """Does the runs of a setup and keeps their results in a folder.

    A ``timed`` run is one whose seconds of learning are asked for: it takes no features from the cache.
    """

    setup: Setup
    folder: Path
    cache: FeatureCache | None = None
    common: Settings = field(default_factory=dict)  # overrides that all runs of the command share, for the report
    save_ratio: float = SAVE_RATIO
    own_process: bool = False  # whether this process does no other run, so that its memory is that of the run

    def finished(self, spec: RunSpec, timed: bool = False) -> Record | None:
        """The result of a complete run; for ``timed``, only if its seconds and memory are those of this run alone."""
        path = self._path(spec)
        if not path.exists():
            return None
        record = read_record(path)
        return record if not timed or (record.own_process and record.learning_seconds is not None) else None

    def run(
        self, spec: RunSpec, timed: bool = False, wait: bool = True, advance: Advance = lambda _more: None
    ) -> Record | None:
        """The result of a run: the stored one, or that of a new run, which continues an interrupted one.

        Only one process works on a run: others wait for its result or, without ``wait``, get None.
        """
        if record := self.finished(spec, timed):
            return record
        work = self.folder / WORK / self.setup.run_name(spec)
        with locked(work / "lock", wait) as mine:
            if not mine:
                return None
            # Another process may have completed it meanwhile. That is also why the lock can be removed with its folder:
            # a process that still holds the removed file finds the result here.
            if record := self.finished(spec, timed):
                return record
            content = self._tasks(spec, work, _private(work) if timed else self.cache, timed, advance)
            write_json(self._path(spec), content)
            shutil.rmtree(work, ignore_errors=True)
        with suppress(OSError):
            work.parent.rmdir()  # by the last run to finish
        return read_record(self._path(spec))

    def _path(self, spec: RunSpec) -> Path:
        return self.folder / f"{self.setup.run_name(spec)}.json"

    def _tasks(
        self, spec: RunSpec, work: Path, cache: FeatureCache | None, timed: bool, advance: Advance
    ) -> dict[str, Any]:
        stream = self.setup.stream(spec)
        method, content = self._start(spec, stream, work, cache, timed)
        done = len(content["tasks"])
        advance(done)
        saved, least = time.perf_counter(), self.save_ratio * SAVE_SECONDS
        title = f"{spec.method}, {stream.dataset.title}, {len(stream)} tasks, seed {spec.seed}"
        with progress_bar(title, len(stream), "tasks") as step:
            step(done)
            for task in stream.tasks[done:]:
                self._task(stream, task, method, content, cache)
                start = time.perf_counter()
                if start - saved > least and task.number < len(stream):
                    self._save(method, content, work)
                    saved = time.perf_counter()
                    least = self.save_ratio * max(SAVE_SECONDS, saved - start)
                step(1)
                advance(1)
        content["finished"] = _now()
        content["results"] = results_of(content["accuracy"], [task["test_images"] for task in content["tasks"]])
        return content

    def _task(
        self, stream: Stream, task: Task, method: Method, content: dict[str, Any], cache: FeatureCache | None
    ) -> None:
        """Learns one task, and tests on it and all before it."""
        images = TaskImages(stream.dataset.train, task.train)
        served = cache.served if cache else 0
        with measured() as learned:
            cost = method.learn(images, images.labels)
        between = cache.served if cache else 0
        row = []
        with measured() as tested, progress_bar("testing", task.number, "tasks") as step:
            for earlier in stream.tasks[: task.number]:
                asked = TaskImages(stream.dataset.test, earlier.test)
                row.append(float(np.mean([a == b for a, b in zip(method.predict(asked), asked.labels, strict=True)])))
                step(1)
        content["accuracy"].append(row)
        content["tasks"].append(
            {
                "labels": list(task.labels),
                "train_images": len(task.train),
                "test_images": len(task.test),
                "learn": {**asdict(learned), **asdict(cost), "cached_passes": between - served},
                "test": {**asdict(tested), "cached_passes": (cache.served if cache else 0) - between},
            }
        )

    def _start(
        self, spec: RunSpec, stream: Stream, work: Path, cache: FeatureCache | None, timed: bool
    ) -> tuple[Method, dict[str, Any]]:
        """A new method, or the one that was saved, with the results so far."""
        chosen, backbone = find_method(spec.method), self.setup.backbone
        try:
            content = read_json(work / "state.json")
            saved = Record(work, content)
            if not timed or (saved.learning_seconds is not None and saved.own_process == self.own_process):
                return chosen.load(work / content.pop("model"), backbone, cache), content
        except (FoRoError, KeyError):
            pass  # nothing was saved, or it is damaged: from the start
        settings = chosen.resolve(spec.overrides)
        return chosen.build(backbone, settings, spec.seed, cache), self._heading(spec, stream, settings)

    def _save(self, method: Method, content: dict[str, Any], work: Path) -> None:
        """The model first, then the state that names it: at any moment the state on disk has its model."""
        name = f"model-{len(content['tasks'])}"
        method.save(work / name)
        write_json(work / "state.json", {**content, "model": name})
        for old in work.glob("model-*"):
            if old.name != name:
                old.unlink(missing_ok=True)

    def _heading(self, spec: RunSpec, stream: Stream, settings: dict[str, Any]) -> dict[str, Any]:
        setup, dataset = self.setup, stream.dataset
        return {
            "format": FORMAT,
            "schema": SCHEMA,
            "command": setup.command(spec),
            "method": spec.method,
            "settings": settings,
            "overrides": dict(spec.overrides),
            "common": dict(self.common),
            "seed": spec.seed,
            "data": {
                "name": spec.dataset,
                "title": dataset.title,
                "description": dataset.description,
                "fingerprint": dataset.fingerprint,
                "classes": len(dataset.classes),
                "train_images": len(dataset.train),
                "test_images": len(dataset.test),
                "complete": dataset.complete,
                "train_per_class": setup.data.train_per_class,
                "test_per_class": setup.data.test_per_class,
                "skipped_images": setup.skipped.get(spec.dataset, 0),
            },
            "stream": {
                "tasks": json_tasks(spec.tasks),
                "blur": spec.blur,
                "imbalance": spec.imbalance,
                "description": stream.description,
            },
            "backbone": {
                "name": setup.backbone.name,
                "source": setup.source,
                "fingerprint": setup.backbone.fingerprint,
                "image_size": setup.backbone.image_size,
                "preprocessing": setup.backbone.preprocessing.to_dict(),
            },
            "versions": versions(),
            "machine": machine(),
            "alone": self.own_process,
            "started": _now(),
            "accuracy": [],
            "tasks": [],
        }


def _private(work: Path) -> FeatureCache:
    """An empty cache for a timed run: each image is learned once, so only repeated tests can find anything in it."""
    shutil.rmtree(work / "features", ignore_errors=True)
    return FeatureCache(work / "features")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
