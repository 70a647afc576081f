"""Cost of one generation against separate forward passes from pixels, one for each candidate, and where the time goes.

A generation computes the patch embedding once for all candidates, and of the last block only the CLS row. The separate
passes are measured twice: plain ones, which compute every token of every block, and ones with our short last block.

python benchmarks/prompts.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from common import VIT_TINY
from rich.console import Console
from rich.table import Table

from foro import KnowledgeEncoder
from foro.adaptation import ActivationHistory, Fitness, PromptDistribution, PromptEvolution
from foro.backbones import Backbone, load_backbone
from foro.backbones.catalog import load_checkpoint
from foro.backbones.checkpoint import Checkpoint
from foro.backbones.graph.vit import build_forward_graph
from foro.backbones.runtimes.onnx_runtime import OnnxBackbone, start_session


class PlainBackbone(OnnxBackbone):
    """Computes every token of every block, as a forward pass usually does."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint)
        self._forward = start_session(build_forward_graph(checkpoint, plain=True))


def seconds(action: Callable[[], object], repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--population", type=int, default=6, help="K")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--backbone", default=str(VIT_TINY))
    options = parser.parse_args()
    backbone = load_backbone(options.backbone)
    generator = np.random.default_rng(0)
    side = backbone.image_size
    pixels = generator.standard_normal((options.images, 3, side, side), dtype=np.float32)
    evolution = PromptEvolution(PromptDistribution.initial(3, backbone.dim), options.population)
    candidates = evolution.ask()
    tokens = backbone.embed(pixels)
    layers = backbone.forward(tokens, candidates)
    encoder = KnowledgeEncoder(backbone.dim)
    labels = [int(label) for label in np.arange(options.images) % 10]
    fitness = Fitness.on(layers[0], labels, encoder, ActivationHistory.of(layers[0]))

    embed = seconds(lambda: backbone.embed(pixels), options.repeats)
    forward = seconds(lambda: backbone.forward(tokens, candidates), options.repeats)
    judge = seconds(lambda: [fitness(each) for each in layers], options.repeats)
    tell = seconds(lambda: evolution.tell([float(generator.random()) for _ in evolution.ask()]), 1)

    def separately(frozen: Backbone) -> float:
        return seconds(
            lambda: [frozen.forward(frozen.embed(pixels), each[None]) for each in candidates], options.repeats
        )

    short, plain = separately(backbone), separately(PlainBackbone(load_checkpoint(options.backbone)))
    total = embed + forward
    table = Table(title=f"One generation: {options.population} candidates, {options.images} images, {backbone.name}")
    for heading in ("", "seconds", "share of the generation"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, value in [
        ("patch embedding, once", embed),
        ("blocks, for all candidates", forward),
        ("fitness of all candidates", judge),
        ("CMA-ES ask and tell", tell),
    ]:
        table.add_row(name, f"{value:.3f}", f"{100 * value / (total + judge + tell):.1f} %")
    console = Console(width=120)
    console.print(table)
    console.print(
        f"separate plain passes from pixels:             {plain:.3f} s; one generation / these = {total / plain:.3f}"
    )
    console.print(
        f"separate passes from pixels, short last block: {short:.3f} s; one generation / these = {total / short:.3f}"
    )


if __name__ == "__main__":
    main()
