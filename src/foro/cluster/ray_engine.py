"""The Ray engine: how many workers, where, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import foro
from foro.backbones.graph.linear import Precision
from foro.backbones.source import precision_of
from foro.cluster.connection import connect
from foro.cluster.pool import Pool
from foro.cluster.ray_extractor import RayExtractor
from foro.cluster.shards import Shards, bad_images, image_digests, shard_size
from foro.cluster.worker import WorkerSettings
from foro.errors import EngineError, InputError
from foro.features.extractor import BATCH
from foro.images.digests import Digests
from foro.images.load import Images
from foro.images.preprocessing import Preprocessing
from foro.images.samples import Samples
from foro.images.unreadable import UnreadableImage, without

if TYPE_CHECKING:
    from foro.learner import Learner

PROCESSORS = 4
"""Of each worker by default: a worker on every processor would need a packed matrix on every processor."""


@dataclass(frozen=True)
class RayEngine:
    """Learns on a Ray cluster; the classifier is the one that a single process would have learned.

    Parameters
    ----------
    address
        Of a running cluster (``auto``: the one on this machine); None starts one here, unless one is in use already.
    workers
        Number of workers; None is one for every four processors and at least two, or what the GPUs allow.
    gpus_per_worker
        GPUs of each worker, or a share of one; with any, torch is the runtime of the workers.
    shard_images
        Images that are read and decoded together, a multiple of 32; None suits most.
    """

    address: str | None = None
    workers: int | None = None
    gpus_per_worker: float = 0.0
    shard_images: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and (not isinstance(self.workers, int) or self.workers < 1):
            raise InputError(f"workers must be a whole number of at least 1, not {self.workers!r}")
        if not isinstance(self.gpus_per_worker, (int, float)) or not 0 <= self.gpus_per_worker < float("inf"):
            raise InputError(f"gpus_per_worker must be 0 or a positive number, not {self.gpus_per_worker!r}")
        size = self.shard_images
        if size is not None and (not isinstance(size, int) or size < 1 or size % BATCH):
            raise InputError(f"shard_images must be a multiple of {BATCH}, not {size!r}")

    @contextmanager
    def open(self, learner: Learner) -> Iterator[RayExtractor]:
        """Workers that hold the learner's backbone and projection, for as long as the context lasts."""
        if learner.config.online:
            raise InputError(
                "online learning takes one batch after another, and cannot be shared out: use engine local"
            )
        ray = connect(self.address)
        count, threads = self.share()
        backbone = learner.backbone
        precision: Any = precision_of(backbone.fingerprint)
        if not hasattr(backbone, "checkpoint") or precision not in get_args(Precision):
            raise EngineError(f"{backbone.name} cannot be sent to workers: give it by its name or folder")
        settings = WorkerSettings(foro.__version__, self.gpus_per_worker > 0, threads, backbone.image_size, precision)
        shared = [ray.put(backbone.checkpoint()), settings, ray.put(learner.head.blank())]

        def start(worker: Any) -> Any:
            return worker.start.remote(*shared, learner.readout)

        with Pool(count, self.gpus_per_worker, threads, start) as pool:
            yield RayExtractor(backbone, learner.head.projection, pool, self.shard_images)

    def without_unreadable(self, samples: Samples) -> tuple[Samples, list[UnreadableImage]]:
        """What ``foro.images.unreadable.without_unreadable`` gives, found where the images are."""
        connect(self.address)
        size = self.shard_images or shard_size(len(samples), self.share()[0])
        bad = bad_images(Shards(samples.images, [0] * len(samples), size))
        return without(samples, bad), bad

    def digests(self, images: Images, preprocessing: Preprocessing) -> Digests:
        """Digests (n, 16) of what a backbone sees of the images, made where these are."""
        connect(self.address)
        size = self.shard_images or shard_size(len(images), self.share()[0])
        return image_digests(Shards(images, [0] * len(images), size), preprocessing)

    def share(self) -> tuple[int, int]:
        """Number of workers, and threads of each."""
        ray = connect(self.address)
        has, each = ray.cluster_resources(), self.gpus_per_worker
        processors, gpus = int(has.get("CPU", 1)), has.get("GPU", 0.0)
        usual = int(gpus / each) if each else min(processors, max(2, processors // PROCESSORS))
        count = self.workers or max(1, usual)
        if count * each > gpus:
            raise EngineError(f"the cluster has {gpus:g} GPUs, too few for {count} workers with {each:g} each")
        machines = [int(node["Resources"].get("CPU", 1)) for node in ray.nodes() if node["Alive"]]
        return count, max(1, min(processors // count, max(machines, default=processors)))
