"""How fast a backbone runs, beside the matrix products it consists of.

    python benchmarks/backbones.py [folder-or-name] [--images 32] [--threads 1]

Without a name: the ViT-Ti/16 of FORO_SHARED_DATA (default ../shared/data), or random weights of its shape.
Every row is measured in the same run, in turns; rates are per second of wall clock, and "CPU ms" is the
processor time of one image, which other programs on the machine disturb less. With more than one thread on a
busy machine, BLAS and torch spend that time waiting for each other, so one thread is the default.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from foro.backbones import Architecture, Backbone, Checkpoint, load_backbone, load_checkpoint

VIT_TI = Architecture(patch_size=16, dim=192, depth=12, heads=3, mlp_hidden=768, grid=14)
SHARED = Path(os.environ.get("FORO_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))


def find_checkpoint(name: str | None) -> Checkpoint:
    """The named checkpoint, else the real ViT-Ti/16, else random weights of its shape."""
    real = SHARED / "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    if name or real.is_dir():
        return load_checkpoint(name or real)
    rng = np.random.default_rng(0)
    shapes = VIT_TI.tensor_shapes()
    tensors = {key: 0.05 * rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    return Checkpoint.from_tensors(tensors, {"architecture": "vit_tiny_patch16_224"})


def matrix_products(architecture: Architecture, images: int, length: int) -> Callable[[], None]:
    """The products of one forward of all layers with NumPy's BLAS, eight images at a time, and nothing else."""
    rng = np.random.default_rng(0)
    dim, hidden, heads, width = architecture.dim, architecture.mlp_hidden, architecture.heads, architecture.head_dim
    batch = min(8, images)
    x = rng.standard_normal((batch * length, dim)).astype(np.float32)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((dim, 3 * dim), (dim, dim), (dim, hidden))]
    back = rng.standard_normal((hidden, dim)).astype(np.float32)
    query = rng.standard_normal((batch, heads, length, width)).astype(np.float32)
    key = np.ascontiguousarray(query.transpose(0, 1, 3, 2))

    def run() -> None:
        for _ in range(architecture.depth * images // batch):
            x @ weights[0]
            query @ key @ query
            x @ weights[1]
            x @ weights[2] @ back

    return run


def best(rows: dict[str, Callable[[], object]], repeats: int) -> dict[str, tuple[float, float]]:
    """Shortest wall clock and processor time of each, taking turns."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for _ in range(repeats):
        for name, run in rows.items():
            wall, processor = time.perf_counter(), time.process_time()
            run()
            times[name].append((time.perf_counter() - wall, time.process_time() - processor))
    return {name: (min(w for w, _ in each), min(p for _, p in each)) for name, each in times.items()}


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()

    checkpoint = find_checkpoint(arguments.name)
    options = {"threads": arguments.threads}
    before = _resident()
    backbones: dict[str, Backbone] = {"onnx float32": load_backbone(checkpoint, **options)}
    size = backbones["onnx float32"].image_size
    pixels = np.random.default_rng(0).standard_normal((arguments.images, 3, size, size)).astype(np.float32)
    backbones["onnx float32"].forward(backbones["onnx float32"].embed(pixels[:16]))
    added = _resident() - before
    backbones["onnx int8"] = load_backbone(checkpoint, precision="int8", **options)
    if find_spec("torch") and find_spec("timm"):
        backbones["torch float32"] = load_backbone(checkpoint, runtime="torch", device="cpu", **options)

    length = checkpoint.architecture.tokens(size)
    rows: dict[str, Callable[[], object]] = {
        "matrix products (BLAS)": matrix_products(checkpoint.architecture, arguments.images, length)
    }
    for name, backbone in backbones.items():
        rows[name] = lambda backbone=backbone: backbone.forward(backbone.embed(pixels))
    with threadpool_limits(arguments.threads):
        results = best(rows, arguments.repeats)
    base_wall, base_cpu = results["matrix products (BLAS)"]
    table = Table(title=f"{checkpoint.name}, {size} px, {arguments.images} images, {arguments.threads} threads")
    for column in ("", "images/s", "of BLAS", "CPU ms", "of BLAS"):
        table.add_column(column, justify="right" if column else "left")
    for name, (wall, processor) in results.items():
        rate, milliseconds = arguments.images / wall, 1000 * processor / arguments.images
        table.add_row(
            name, f"{rate:.1f}", f"{base_wall / wall:.2f}", f"{milliseconds:.1f}", f"{base_cpu / processor:.2f}"
        )
    Console().print(table)
    Console().print(f"resident memory that the onnx float32 backbone added: {added:.0f} MB")


def _resident() -> float:
    """Resident memory of this process in MB."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
