"""The runs of an experiment in parallel on a Ray cluster, each with a lock and a result file as on one machine."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from foro.backbones import load_backbone
from foro.cluster.connection import connect, failure
from foro.cluster.ray_engine import RayEngine
from foro.engine import Engine
from foro.features.cache import FeatureCache
from foro.research.protocol.runner import Runner
from foro.research.protocol.spec import RunSpec
from foro.util.progress import Advance, without_bars


@dataclass(frozen=True)
class RayGrid:
    """Does runs on a Ray cluster, as many at once as its engine has workers.

    The folder of the results and the data must be the same on every machine.
    """

    engine: RayEngine

    def __call__(self, runner: Runner, specs: Sequence[RunSpec], advance: Advance) -> None:
        """Does all runs except those that another process is working on, and leaves each result in its file."""
        ray = connect(self.engine.address)
        count, threads = self.engine.share()
        # A run continues where it stopped, so Ray may start it again if its process dies.
        run = ray.remote(_run).options(num_cpus=1, num_gpus=self.engine.gpus_per_worker, max_retries=2)
        about = _packed(runner, threads)
        ahead = list(reversed(specs))
        waiting: set[Any] = set()
        try:
            while ahead or waiting:
                while ahead and len(waiting) < count:
                    waiting.add(run.remote(about, ahead.pop()))
                (ready,), _ = ray.wait(list(waiting), num_returns=1)
                waiting.remove(ready)
                try:
                    advance(ray.get(ready))
                except ray.exceptions.RayError as error:
                    raise failure(error, "a run") from error
        finally:
            for each in waiting:
                ray.cancel(each)


def find_grid(engine: Engine | None) -> RayGrid | None:
    """What does runs in parallel on an engine; None: one after another, in this process."""
    return RayGrid(engine) if isinstance(engine, RayEngine) else None


def _packed(runner: Runner, threads: int) -> bytes:
    """A runner for other processes: where its data and its backbone are, not these themselves."""
    cache = runner.cache
    sent = replace(runner, setup=runner.setup.unloaded(), folder=runner.folder.resolve(), cache=None)
    return pickle.dumps((sent, cache and cache.folder.resolve(), threads))


def _run(about: bytes, spec: RunSpec) -> int:
    """Does one run; the number of its tasks, or 0 if another process is working on it."""
    with without_bars():  # the screen belongs to the process that waits for this one
        record = _runner(about).run(spec, wait=False)
    return 0 if record is None else len(record.content["tasks"])


@lru_cache(maxsize=1)
def _runner(about: bytes) -> Runner:
    """One for all runs of a process: the data and the backbone are read once."""
    runner, cache, threads = pickle.loads(about)
    setup = runner.setup
    setup.backbone = load_backbone(setup.source, image_size=setup.wanted_size, threads=threads)
    whole: Runner = replace(runner, cache=cache and FeatureCache(cache))
    return whole
