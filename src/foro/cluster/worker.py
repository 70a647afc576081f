"""One worker: a process on the cluster that holds the backbone, and what it has learned so far."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import foro
from foro.adaptation.fitness import Fitness
from foro.backbones import Backbone, load_backbone
from foro.backbones.checkpoint import Checkpoint
from foro.backbones.graph.linear import Precision
from foro.cluster.shards import Decoded, unpack
from foro.errors import EngineError, InputError
from foro.features.candidate import Candidate, stacked
from foro.features.extractor import BATCH, Extractor
from foro.features.readout import Readout
from foro.heads.ridge import KnowledgeEncoder
from foro.types import Float32, Label


@dataclass(frozen=True)
class WorkerSettings:
    """How a worker runs the backbone, and the version of FoRo that it must have."""

    version: str
    gpu: bool
    threads: int
    image_size: int
    precision: Precision


@dataclass(frozen=True)
class Place:
    """Where a worker is."""

    host: str
    process: int


@dataclass(frozen=True)
class Absorbed:
    """The answer of a worker: it has added a shard to its statistics, or why it could not."""

    shard: int
    images: int
    bad: str | None = None


class Worker:
    """Turns decoded shards into statistics; plain Python, which Ray makes an actor of.

    Everything it has learned is lost with it. It never sees a shard twice, because Ray itself repeats no request: the
    caller decides what is repeated, and by which worker.
    """

    def start(
        self, checkpoint: Checkpoint, settings: WorkerSettings, encoder: KnowledgeEncoder, readout: Readout
    ) -> Place:
        """Loads the backbone; ``encoder`` has the projection and has learned nothing."""
        if foro.__version__ != settings.version:
            raise EngineError(f"foro is {foro.__version__} on {socket.gethostname()}, but {settings.version} here")
        self._backbone: Backbone = load_backbone(
            checkpoint,
            runtime="torch" if settings.gpu else "onnx",
            image_size=settings.image_size,
            threads=settings.threads,
            precision=settings.precision,
        )
        self._encoder, self._readout = encoder, readout
        self._extractor = Extractor(self._backbone)
        self._learned = encoder.blank()
        self._tokens: Float32 | None = None
        self._searched: Float32 | None = None
        return Place(socket.gethostname(), os.getpid())

    def aim(self, labels: list[Label], candidate: Candidate) -> None:
        """Sets the labels of the shards to come, and the candidate of their features."""
        self._labels, self._candidate = labels, candidate
        self._tokens = self._searched = None  # of a search that is over

    def absorb(self, block: Any) -> Absorbed:
        """Adds a shard to the statistics, all of it or nothing."""
        shard = unpack(block)
        if shard.bad is not None:
            return Absorbed(shard.shard, 0, shard.bad)
        batches = [self._readout(layers) for layers in self._layers(shard, self._candidate)]
        self._learned.absorb(np.concatenate(batches), [self._labels[number] for number in shard.numbers])
        return Absorbed(shard.shard, len(shard.numbers))

    def hand_over(self) -> KnowledgeEncoder:
        """Everything learned since the last hand-over; the worker starts again from nothing.

        The projection, which all workers have, is left out: G as a packed matrix, C and the counts travel.
        """
        learned, self._learned = self._learned, self._encoder.blank()
        learned.projection = None
        return learned

    def take_over(self, learned: KnowledgeEncoder) -> None:
        """Adds what another worker handed over."""
        learned.projection = self._encoder.projection
        self._learned.merge(learned)

    def layers(self, block: Any, candidate: Candidate) -> tuple[int, Float32]:
        """What is read of every layer, (n, outputs, dim), of a shard, and which shard that is."""
        shard = unpack(block)
        if shard.bad is not None:
            raise InputError(shard.bad)
        return shard.shard, np.concatenate(list(self._layers(shard, candidate)))

    def hold(self, *blocks: Any) -> None:
        """Keeps the tokens of a sample, in the order of its shards, for candidates to be compared on."""
        shards = sorted((unpack(block) for block in blocks), key=lambda shard: shard.shard)
        for shard in shards:
            if shard.bad is not None:
                raise InputError(shard.bad)
        self._tokens = np.concatenate([tokens for shard in shards for tokens in self._embedded(shard)])

    def sample_layers(self, candidate: Candidate) -> Float32:
        """What is read of every layer, (n, outputs, dim), of the sample with one candidate."""
        assert self._tokens is not None
        return np.asarray(self._extractor.forward(self._tokens, [candidate])[0])

    def compare_on(self, positions: NDArray[np.intp], fitness: Fitness) -> None:
        """Sets the fitness of the candidates to come, and the part of the sample that it is computed on."""
        assert self._tokens is not None
        self._searched, self._fitness = self._tokens[positions], fitness

    def judge(self, candidate: Candidate) -> float:
        """Fitness of one candidate."""
        assert self._searched is not None
        prompts, gains = stacked([candidate])  # not in the weights, which would be made anew for each candidate
        return self._fitness(self._backbone.forward(self._searched, prompts, gains)[0])

    def _layers(self, shard: Decoded, candidate: Candidate) -> Iterator[Float32]:
        for tokens in self._embedded(shard):
            yield self._extractor.forward(tokens, [candidate])[0]

    def _embedded(self, shard: Decoded) -> Iterator[Float32]:
        """Tokens of a shard, in the batches that a single process would use."""
        for start in range(0, len(shard.crops), BATCH):
            yield self._backbone.embed(self._backbone.preprocessing.normalise(shard.crops[start : start + BATCH]))
