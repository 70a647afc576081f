"""An extractor that never sees an image: workers run them through the backbone, and send what they have learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.cluster.connection import connect
from foro.cluster.counting import Counting
from foro.cluster.pool import Pool
from foro.cluster.shards import Shards, decoded, shard_size
from foro.engine import RemoteExtractor
from foro.features.candidate import NEUTRAL, Candidate
from foro.features.extractor import BATCH
from foro.features.sample import Fitness, Judge
from foro.heads.projection import RandomProjection
from foro.heads.ridge import KnowledgeEncoder
from foro.images.load import Images
from foro.types import Float32, Label
from foro.util.progress import progress_bar


class RayExtractor(RemoteExtractor):
    """Shares the images of one task out among the workers of a pool."""

    def __init__(
        self, backbone: Backbone, projection: RandomProjection | None, pool: Pool, shard_images: int | None
    ) -> None:
        super().__init__(backbone)
        self._projection = projection
        self._pool = pool
        self._shard_images = shard_images

    def learned(self, images: Images, labels: list[Label], candidate: Candidate) -> KnowledgeEncoder:
        """What there is to learn from images with one candidate, to be merged."""
        names = list(dict.fromkeys(labels))
        places = {name: number for number, name in enumerate(names)}
        shards = self._shards(images, [places[label] for label in labels])
        shared = connect().put(names)
        self._pool.retract("hold", "compare_on")
        self._pool.broadcast("aim", lambda worker: worker.aim.remote(shared, candidate))
        with progress_bar("learning", len(labels)) as advance:
            read = lambda wanted: decoded(shards, wanted, self.backbone.preprocessing)  # noqa: E731
            learned = Counting(self._pool, len(shards), read, advance).total()
        learned.projection = self._projection  # which stayed here
        self.forward_passes += len(labels)
        return learned

    def layers(self, images: Images, candidate: Candidate = NEUTRAL) -> Iterator[Float32]:
        """What is read of every layer, (b, outputs, dim), of images with one candidate, in batches, in order."""
        shards = Shards(images, [0] * len(images), BATCH)
        blocks = decoded(shards, range(len(shards)), self.backbone.preprocessing)
        found: dict[int, Float32] = {}
        following = 0
        for _, (shard, layers) in self._pool.map(lambda worker, block: worker.layers.remote(block, candidate), blocks):
            found[shard] = layers
            while following in found:
                self.forward_passes += len(found[following])
                yield found.pop(following)
                following += 1

    def sample(self, images: Images) -> RaySample:
        """A sample whose tokens every worker holds."""
        shards = Shards(images, [0] * len(images), BATCH)
        blocks = list(decoded(shards, range(len(shards)), self.backbone.preprocessing))
        self._pool.broadcast("hold", lambda worker: worker.hold.remote(*blocks))
        return RaySample(self, self._pool, len(images))

    def _shards(self, images: Images, numbers: list[int]) -> Shards:
        return Shards(images, numbers, self._shard_images or shard_size(len(images), len(self._pool)))


class RaySample:
    """A search sample that each worker holds, to judge some of the candidates."""

    def __init__(self, extractor: RayExtractor, pool: Pool, images: int) -> None:
        self._extractor, self._pool, self._images = extractor, pool, images

    def layers(self, candidate: Candidate) -> Float32:
        """What is read of every layer, (n, outputs, dim), of the sample with one candidate."""
        ((_, layers),) = self._pool.map(lambda worker, each: worker.sample_layers.remote(each), [candidate])
        self._extractor.forward_passes += self._images
        found: Float32 = layers
        return found

    def judge(self, fitness: Fitness, positions: NDArray[np.intp]) -> Judge:
        """A function from candidates, all at once, to their fitness on the sample's images at some positions."""
        shared = connect().put(fitness)
        self._pool.broadcast("compare_on", lambda worker: worker.compare_on.remote(positions, shared))

        def values(candidates: Sequence[Candidate]) -> list[float]:
            asked = enumerate(candidates)
            answers: Any = self._pool.map(lambda worker, each: worker.judge.remote(each[1]), asked)
            self._extractor.forward_passes += len(candidates) * len(positions)
            return [value for (_, _), value in sorted(answers, key=lambda answer: answer[0][0])]

        return values
