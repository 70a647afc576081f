"""What the runs of one command share: data sets and a backbone, each read once and only when it is needed."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from foro.backbones import Backbone, load_backbone, load_checkpoint
from foro.backbones.embedded import find_registered
from foro.errors import FoRoWarning
from foro.images.unreadable import without_unreadable
from foro.research.datasets.dataset import Dataset
from foro.research.datasets.registry import list_datasets, load_dataset
from foro.research.protocol.method_catalog import find_method
from foro.research.protocol.spec import RunSpec, json_tasks, tasks_text
from foro.research.protocol.streams import Stream, class_incremental

SCHEMA = 1

MOST_NAMED = 5
"""Of the images that cannot be decoded, the first are named and the others only counted."""


@dataclass(frozen=True)
class DataOptions:
    """Where the data are, and how much of them is used; None is all."""

    data_dir: str | None = None
    train_per_class: int | None = None
    test_per_class: int | None = None
    skip_bad: bool = False


class Setup:
    """A backbone at an image size, and data sets; decides which runs are the same, and what they are called."""

    def __init__(self, backbone: str = "nano", image_size: int | None = None, data: DataOptions | None = None) -> None:
        self.source = _absolute(backbone, find_registered(backbone) is not None)
        self.wanted_size = image_size
        self.data = data or DataOptions()
        self.skipped: dict[str, int] = {}  # images of each data set that could not be decoded
        self._datasets: dict[str, Dataset] = {}

    def unloaded(self) -> Setup:
        """The same setup with nothing read yet, for another process."""
        return Setup(self.source, self.wanted_size, self.data)

    @cached_property
    def backbone(self) -> Backbone:
        """The backbone, ready to run."""
        return load_backbone(self.source, image_size=self.wanted_size)

    @cached_property
    def input(self) -> tuple[str, int]:
        """SHA-256 of the backbone's weights, and the side of its input in pixels: enough to find finished runs.

        The weights are read for it and freed again: the runtime has its own, and memory is measured.
        """
        checkpoint = load_checkpoint(self.source)
        return checkpoint.fingerprint, checkpoint.preprocessing(self.wanted_size).image_size

    def dataset(self, name: str) -> Dataset:
        """A data set, with as many images per class as the options say."""
        if name not in self._datasets:
            options = self.data
            # Only published data sets are looked for in the folder; digits come with scikit-learn.
            published = any(entry.name == name and entry.archive for entry in list_datasets())
            dataset = load_dataset(name, options.data_dir if published or name == "folder" else None)
            if options.skip_bad:
                train, bad_train = without_unreadable(dataset.train)
                test, bad_test = without_unreadable(dataset.test)
                reasons = [each.reason for each in (*bad_train, *bad_test)]
                self.skipped[name] = len(reasons)
                if reasons:
                    more = f" and {len(reasons) - MOST_NAMED} more" if len(reasons) > MOST_NAMED else ""
                    named = "; ".join(reasons[:MOST_NAMED])
                    warnings.warn(f"left out of {dataset.title}: {named}{more}", FoRoWarning, stacklevel=2)
                dataset = replace(dataset, train=train, test=test)
            self._datasets[name] = dataset.subset(options.train_per_class, options.test_per_class)
        return self._datasets[name]

    def stream(self, spec: RunSpec) -> Stream:
        """The tasks of a run."""
        tasks = spec.tasks if isinstance(spec.tasks, int) else list(spec.tasks)
        return class_incremental(self.dataset(spec.dataset), tasks, spec.seed, spec.blur, spec.imbalance)

    def identity(self, spec: RunSpec) -> dict[str, Any]:
        """Everything that a result depends on, and nothing else: two runs are the same if this is."""
        method = find_method(spec.method)
        return {
            "schema": SCHEMA,
            **({"revision": method.revision} if method.revision else {}),
            "data": self.dataset(spec.dataset).fingerprint,
            "tasks": json_tasks(spec.tasks),
            "blur": spec.blur,
            **({"imbalance": spec.imbalance} if spec.imbalance > 1 else {}),
            "method": spec.method,
            "settings": method.resolve(spec.overrides),
            "seed": spec.seed,
            "backbone": self.input[0],
            "image_size": self.input[1],
        }

    def run_name(self, spec: RunSpec) -> str:
        """A name for a run's files: readable, and different for every identity."""
        digest = hashlib.sha256(json.dumps(self.identity(spec), sort_keys=True).encode()).hexdigest()[:12]
        tasks = spec.tasks if isinstance(spec.tasks, int) else f"{len(spec.tasks)}u"
        return f"{self.dataset(spec.dataset).name}-T{tasks}-{spec.method}-seed{spec.seed}-{digest}"

    def command(self, spec: RunSpec) -> str:
        """The command that repeats a run."""
        data = self.data
        dataset = _absolute(spec.dataset, any(entry.name == spec.dataset for entry in list_datasets()))
        words: list[Any] = ["foro", "experiment", "run", "--dataset", dataset, "--backbone", self.source]
        words += ["--tasks", tasks_text(spec.tasks), "--methods", spec.method, "--seeds", spec.seed]
        optional = {
            "--image-size": self.wanted_size,
            "--data-dir": os.path.abspath(data.data_dir) if data.data_dir else None,
            "--train-per-class": data.train_per_class,
            "--test-per-class": data.test_per_class,
            "--blur": spec.blur or None,
            "--imbalance": spec.imbalance if spec.imbalance > 1 else None,
        }
        for flag, value in optional.items():
            words += [] if value is None else [flag, value]
        words += ["--skip-bad"] if data.skip_bad else []
        for name, value in spec.overrides.items():
            words += ["--set", f"{name}={value}"]
        return shlex.join(map(str, words))


def _absolute(name: str, registered: bool) -> str:
    """A path that works from anywhere; a registered name stays a name, even if there is a folder of that name here."""
    return name if registered or not Path(name).exists() else str(Path(name).resolve())
