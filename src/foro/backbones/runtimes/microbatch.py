"""How many sequences go through a backbone at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from foro.backbones.architecture import Architecture
from foro.errors import BackboneError
from foro.types import Float32
from foro.util.parallel import spread

DEFAULT_MEMORY_BUDGET = 256 * 2**20
# On a CPU a larger run is not faster: a ViT-Ti needs the same time for an image from 1 to 8 sequences a run,
# within 6 %, and a seventh more with 16.
ENOUGH_ON_CPU = 8


def sequences_per_run(architecture: Architecture, length: int, memory_budget: int, enough: int = ENOUGH_ON_CPU) -> int:
    """Sequences of ``length`` tokens that fit into ``memory_budget`` bytes: from one to ``enough``."""
    if memory_budget < 1:
        raise BackboneError(f"the memory budget must be a positive number of bytes, not {memory_budget}")
    # Alive at the same time: a few copies of the stream beside the MLP or the attention, whichever is wider.
    mlp = 2 * architecture.mlp_hidden * length
    attention = 2 * architecture.heads * length**2 + 6 * architecture.dim * length
    floats = 3 * architecture.dim * length + max(mlp, attention)
    return int(np.clip(memory_budget // (4 * floats), 1, enough))


def run_in_pieces(
    run: Callable[[Float32, Float32, Float32 | None], Float32],
    tokens: Float32,
    prompts: Float32,
    gains: Float32 | None,
    outputs: int,
    together: int,
    side_by_side: int = 1,
) -> Float32:
    """What is read (K, n, outputs, dim) of tokens (n, m, dim) for K candidates, ``together`` sequences a run.

    ``side_by_side`` runs are made at the same time, by as many threads.
    """
    images, candidates = len(tokens), len(prompts)
    read = np.empty((candidates, images, outputs, tokens.shape[2]), np.float32)
    image_step = max(1, min(images, together))
    candidate_step = max(1, together // image_step)

    def piece(first: tuple[int, int]) -> None:
        k, i = first
        ks, ns = slice(k, k + candidate_step), slice(i, i + image_step)
        read[ks, ns] = run(tokens[ns], prompts[ks], None if gains is None else gains[ks])

    spread(piece, product(range(0, candidates, candidate_step), range(0, images, image_step)), side_by_side)
    return read
