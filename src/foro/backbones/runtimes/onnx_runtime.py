"""The default runtime: ONNX Runtime, on whatever the machine has, without torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from foro.backbones.checkpoint import Checkpoint
from foro.backbones.graph.builder import Graph
from foro.backbones.graph.linear import Precision
from foro.backbones.graph.vit import build_embed_graph, build_forward_graph
from foro.backbones.runtimes.checkpoint_runtime import CheckpointRuntime
from foro.backbones.runtimes.microbatch import DEFAULT_MEMORY_BUDGET
from foro.errors import BackboneError, first_line
from foro.types import Float32
from foro.util.threads import thread_count

if TYPE_CHECKING:
    import onnxruntime


class OnnxBackbone(CheckpointRuntime):
    """A ``Backbone`` run by ONNX Runtime; see ``load_backbone`` for the arguments."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        image_size: int | None = None,
        threads: int | None = None,
        precision: Precision = "float32",
        providers: Sequence[str] | None = None,
        memory_budget: int = DEFAULT_MEMORY_BUDGET,
    ) -> None:
        if precision not in get_args(Precision):
            raise BackboneError(f"the precision must be one of {', '.join(get_args(Precision))}, not {precision!r}")
        if threads is not None and threads < 1:
            raise BackboneError(f"threads must be at least 1, not {threads}")
        super().__init__(checkpoint, image_size, memory_budget)
        self._precision = precision
        if precision != "float32":
            # Dynamic quantisation takes one scale from all it is given, so an image's result would depend on its
            # neighbours; alone, every sequence gets its own scale.
            self._most_forwarded = 1
        self._threads, self._providers = threads, providers
        if providers is None:
            self._side_by_side = min(threads or sys.maxsize, thread_count())
        self._sessions: dict[str, onnxruntime.InferenceSession] = {}
        self._start("embed", build_embed_graph(checkpoint, self.image_size))
        self._start("forward", build_forward_graph(checkpoint, precision))

    def _start(self, name: str, graph: Graph) -> None:
        self._sessions[name] = start_session(graph, self._providers)

    def _rebuilt(self, checkpoint: Checkpoint) -> OnnxBackbone:
        return OnnxBackbone(
            checkpoint,
            image_size=self.image_size,
            threads=self._threads,
            precision=self._precision,
            providers=self._providers,
            memory_budget=self._memory_budget,
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights in use, and their precision: features of quantised weights must not be mixed in."""
        return self._fingerprint if self._precision == "float32" else f"{self._fingerprint}-{self._precision}"

    def _run_embed(self, pixels: Float32) -> Float32:
        tokens: Float32 = self._sessions["embed"].run(None, {"pixels": pixels})[0]
        return tokens

    def _run_forward(self, tokens: Float32, prompts: Float32, gains: Float32 | None) -> Float32:
        given = {"tokens": tokens, "prompts": prompts}
        if gains is not None and "gains" not in self._sessions:  # only a search needs this graph
            self._start("gains", build_forward_graph(self.checkpoint(), self._precision, gains=True))
        session = self._sessions["forward" if gains is None else "gains"]
        layers: Float32 = session.run(None, given if gains is None else {**given, "gains": gains})[0]
        return layers


def start_session(graph: Graph, providers: Sequence[str] | None = None) -> onnxruntime.InferenceSession:
    """A session of ONNX Runtime that holds its own copy of the graph's weights, and computes in the caller's thread."""
    # Newer versions report their use over the network unless this is set.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    available = onnxruntime.get_available_providers()
    chosen = list(providers) if providers is not None else ["CPUExecutionProvider"]
    if unknown := [name for name in chosen if name not in available]:
        raise BackboneError(f"this onnxruntime has no {', '.join(unknown)}; it has {', '.join(available)}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Several runs side by side need no threads of its own, which would wait for each other after every operator.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # The arena keeps every size it was ever asked for; without it a run returns its memory.
    options.enable_cpu_mem_arena = False
    values: list[Any] = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in graph.weights.values()]
    options.add_external_initializers(list(graph.weights), values)
    try:
        return onnxruntime.InferenceSession(graph.model, options, providers=chosen)
    except Exception as error:
        raise BackboneError(f"onnxruntime could not load this backbone: {first_line(error)}") from error
