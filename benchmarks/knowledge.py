"""Seconds and peak memory of the knowledge encoder beside bare BLAS, the paper's recursion and scikit-learn.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/knowledge.py [--tasks 4] [--bare]

Seconds are of processors, so that other programs count little. ``--bare`` leaves the recursion and scikit-learn out,
which take minutes. Aim: γ chosen within 1.5 times of γ given.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.linalg import blas, lapack

from foro.heads.ridge import KnowledgeEncoder, RecursiveReference
from foro.util.system import peak_megabytes

FEATURES = 192
Measured = tuple[list[float], float]


def task(number: int, samples: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Features that look like those of a backbone: noisy classes in a space of 192 dimensions."""
    generator = np.random.default_rng(number)
    centres = np.random.default_rng(12345).standard_normal((classes, FEATURES))
    labels = generator.integers(0, classes, samples)
    return centres[labels] + 2 * generator.standard_normal((samples, FEATURES)), labels


def measured(action: Callable[[], None]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def bare(size: int, samples: int, classes: int, tasks: int) -> Measured:
    """(a) dsyrk + dpotrf + dpotrs, once for each task, on features that are projected already."""
    rows = KnowledgeEncoder(FEATURES, size).project(task(0, samples, classes)[0])
    targets = np.eye(classes)[task(0, samples, classes)[1]]
    before = peak_megabytes()
    gram = np.zeros((size, size), order="F")
    cross = np.zeros((size, classes), order="F")

    def one() -> None:
        nonlocal gram, cross
        gram = blas.dsyrk(1.0, rows.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        cross += rows.T @ targets
        matrix = gram.copy(order="F")
        matrix[np.diag_indices(size)] += 0.1
        factor, _ = lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        lapack.dpotrs(factor, cross, lower=1)

    return [measured(one) for _ in range(tasks)], peak_megabytes() - before


def ours(size: int, samples: int, classes: int, tasks: int, regularisation: float | str) -> Measured:
    """(b) absorb a task and solve, and (e) stream one more sample."""
    data = [task(number, samples, classes) for number in range(tasks)]
    probe, extra = task(99, 8, classes)
    before = peak_megabytes()
    encoder = KnowledgeEncoder(FEATURES, size, regularisation)

    def learn(X: np.ndarray, y: np.ndarray) -> None:
        encoder.absorb(X, y)
        encoder.predict(probe[:1])

    seconds = [measured(lambda X=X, y=y: learn(X, y)) for X, y in data]
    streamed = min(measured(lambda i=i: learn(probe[i : i + 1], extra[i : i + 1])) for i in range(8))
    return [*seconds, streamed, float(encoder.regularisation_used)], peak_megabytes() - before


def recursion(size: int, samples: int, classes: int, batch: int) -> Measured:
    """(c) the paper's update in batches, two of them, scaled to a task."""
    X, y = task(0, 2 * batch, classes)
    rows, targets = KnowledgeEncoder(FEATURES, size).project(X), np.eye(classes)[y]
    before = peak_megabytes()
    reference = RecursiveReference(size, classes, 0.1)
    seconds = [
        measured(lambda part=part: reference.update(rows[part], targets[part]))
        for part in (slice(0, batch), slice(batch, None))
    ]
    return [min(seconds) * samples / batch], peak_megabytes() - before


def refitted(size: int, samples: int, classes: int, tasks: int) -> Measured:
    """(d) scikit-learn's Ridge on all tasks so far, as without statistics one must."""
    from sklearn.linear_model import Ridge

    encoder = KnowledgeEncoder(FEATURES, size)
    before = peak_megabytes()
    X, y = (np.concatenate(parts) for parts in zip(*(task(t, samples, classes) for t in range(tasks)), strict=True))
    rows, targets = encoder.project(X), np.eye(classes)[y]
    seconds = measured(lambda: Ridge(0.1, fit_intercept=False, copy_X=False).fit(rows, targets))
    return [seconds], peak_megabytes() - before


def alone(function: Callable[..., Measured], *arguments: object) -> Measured:
    """Runs in a process of its own, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=8192, help="M")
    parser.add_argument("--samples", type=int, default=2000, help="samples of a task")
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--bare", action="store_true", help="beside bare BLAS only")
    options = parser.parse_args()
    shape = options.size, options.samples, options.classes
    console = Console(width=120)
    packed = options.size * (options.size + 1) / 2 * 8 / 2**20

    blas_seconds, blas_memory = alone(bare, *shape, options.tasks)
    (*fixed, streamed, _), fixed_memory = alone(ours, *shape, options.tasks, 0.1)
    (*auto, _, chosen), auto_memory = alone(ours, *shape, options.tasks, "auto")

    base, best = min(blas_seconds), min(fixed)
    size = f"{options.samples} samples, {options.classes} classes, M = {options.size}"
    table = Table(title=f"One task of {size}: seconds of processors")
    for heading in ("", "seconds", "ratio", "peak MB", "× packed G"):
        table.add_column(heading, justify="left" if not heading else "right")

    def row(name: str, seconds: float, ratio: str, memory: float) -> None:
        table.add_row(name, f"{seconds:.3f}", ratio, f"{memory:.0f}", f"{memory / packed:.2f}")

    row("(a) bare dsyrk + dpotrf + dpotrs", base, "1", blas_memory)
    row("(b) encoder, γ = 0.1", best, f"{best / base:.2f} × (a)", fixed_memory)
    row(f"(b) encoder, γ auto (chose {chosen:.4g})", min(auto), f"{min(auto) / best:.2f} × given", auto_memory)
    if not options.bare:
        (by_recursion,), memory = alone(recursion, *shape, 256)
        row("(c) the paper's recursion, batches of 256", by_recursion, f"{by_recursion / best:.1f} × (b)", memory)
        (by_ridge,), memory = alone(refitted, *shape, options.tasks)
        row(f"(d) Ridge refitted on {options.tasks} tasks", by_ridge, f"{by_ridge / best:.2f} × (b)", memory)
    row("(e) one streamed sample, γ = 0.1", streamed, f"(b) / {best / streamed:.0f}", fixed_memory)
    console.print(table)
    console.print(f"seconds of each task: γ = 0.1 {np.round(fixed, 2).tolist()}, auto {np.round(auto, 2).tolist()}")


if __name__ == "__main__":
    main()
