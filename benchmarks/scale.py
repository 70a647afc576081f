"""How learning scales on Ray: one and two workers of one processor each, what the reduction costs, what the driver
needs; and a model of the cost of 10⁸ images on 64 workers, checked against what was measured.

python benchmarks/scale.py                              # prints everything, about three minutes
python benchmarks/scale.py --markdown docs/scaling.md   # and writes it into the page
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from foro import Learner, read_class_folders
from foro.backbones import load_backbone
from foro.cluster import RayEngine
from foro.cluster.connection import start as start_cluster
from foro.cluster.counting import Counting
from foro.cluster.shards import SHARD, WINDOW, Shards, _decode, unpack
from foro.cluster.worker import Worker
from foro.features.extractor import BATCH
from foro.features.readout import readout
from foro.util.system import peak_megabytes

MIB = 2**20
FILES = 512  # distinct images on the disk, which are listed again and again
SIDE = 256  # of a photo on the disk, before it is made as small as the backbone wants it
CLASSES = 64
FEWEST = 2 * (1024 + SHARD)  # so that each of two workers has more samples than are kept as rows
NETWORK = 10e9 / 8  # bytes a second between two machines, for the model only
BEGIN, END = "<!-- printed by benchmarks/scale.py -->", "<!-- end -->"


@dataclass(frozen=True)
class Unit:
    """Seconds for one image on one processor, and for one hand-over, measured without Ray; and bytes."""

    decode: float
    forward: float
    statistics: float
    hand_over: float
    crop_bytes: int
    path_bytes: float  # in a list of paths, as the driver holds them
    sent_bytes: float  # of a path and its class, on the way to a reader

    @property
    def image(self) -> float:
        return self.decode + self.forward + self.statistics

    def learning(self, images: int, workers: int) -> float:
        """Seconds of computing on so many workers."""
        return images * self.image / workers

    def reduction(self, workers: int) -> float:
        """Seconds of adding up the statistics of so many workers, and of handing the sum to the driver."""
        return (math.ceil(math.log2(workers)) + 1) * self.hand_over


@dataclass(frozen=True)
class Run:
    """One ``learn`` on a cluster of as many processors as workers."""

    workers: int
    images: int
    seconds: float
    start_seconds: float
    reduce_seconds: float
    hand_overs: int
    moved_bytes: int  # by all hand-overs
    driver_megabytes: float
    worker_megabytes: float
    base_megabytes: float


def main() -> None:
    options = _options()
    if options.step:
        print(json.dumps(asdict(_unit(options) if options.step == "unit" else _run(options))))
        return
    if options.images < FEWEST:
        sys.exit(f"--images must be at least {FEWEST}: with fewer, workers keep rows and have no packed matrix to move")
    with tempfile.TemporaryDirectory() as folder:
        _write_images(Path(folder))
        unit = Unit(**_step(options, folder, "unit", 1, 2 * SHARD))
        one, two = (Run(**_step(options, folder, "run", workers, options.images)) for workers in (1, 2))
        large = Run(**_step(options, folder, "run", 2, options.factor * options.images))
    console = Console(width=110, record=True)
    _show(console, options, unit, one, two, large)
    if options.markdown:
        _write(options.markdown, console.export_text())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default="nano")
    parser.add_argument("--projection-dim", type=int, default=8192)
    parser.add_argument("--images", type=int, default=3072, help="of the runs with one and two workers")
    parser.add_argument("--factor", type=int, default=3, help="how many times more for the memory of the driver")
    parser.add_argument("--markdown", type=Path, help="page whose printed part is replaced")
    parser.add_argument("--step", choices=("unit", "run"), help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _step(options: argparse.Namespace, folder: str, step: str, workers: int, images: int) -> dict:
    """What a process of its own measured, with as many processors as workers."""
    command = [sys.executable, __file__, "--step", step, "--workers", workers, "--images", images, "--folder", folder]
    command += ["--backbone", options.backbone, "--projection-dim", options.projection_dim]
    print(f"{step}: {images} images, {workers} worker{'s' * (workers > 1)} …", file=sys.stderr)
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, env=one_thread)
    return json.loads(ended.stdout)


def _write_images(folder: Path) -> None:
    """Photos that are not random noise, so that a JPEG of them is as large, and as slow, as one of a photo."""
    generator = np.random.default_rng(0)
    for number in range(FILES):
        coarse = generator.integers(0, 255, (24, 24, 3), dtype=np.uint8)
        path = folder / f"class {number % CLASSES:02}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(path, quality=90)


def _listed(folder: Path, images: int) -> tuple[list[Path], list]:
    files = read_class_folders(folder)
    order = np.random.default_rng(0).permutation(images) % len(files)
    return [files.images[position] for position in order], [files.labels[position] for position in order]


def _learner(options: argparse.Namespace) -> Learner:
    return Learner(load_backbone(options.backbone, threads=1), policy="none", projection_dim=options.projection_dim)


def _unit(options: argparse.Namespace) -> Unit:
    """What one image costs on one processor, without Ray."""
    import pyarrow

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    learner = _learner(options)
    images, labels = _listed(options.folder, options.images)
    shards = Shards(images, [0] * len(images), SHARD)
    blocks = [pyarrow.table({"shard": [each], "content": [shards.pack(each)]}) for each in range(len(shards))]
    preprocessing = learner.backbone.preprocessing
    _decode(blocks[0], preprocessing)
    start = time.perf_counter()
    decoded = [unpack(_decode(block, preprocessing)) for block in blocks]
    decode = time.perf_counter() - start
    start = time.perf_counter()
    features = []
    for shard in decoded:
        for first in range(0, len(shard.crops), BATCH):
            tokens = learner.backbone.embed(preprocessing.normalise(shard.crops[first : first + BATCH]))
            features.append(readout(learner.backbone.forward(tokens)[0]))
    forward = time.perf_counter() - start
    rows = np.concatenate(features)
    encoder = learner.head.blank(thin_limit=0)
    encoder.absorb(rows[:SHARD], labels[:SHARD])  # makes the packed matrix
    start = time.perf_counter()
    for first in range(0, len(rows), SHARD):
        encoder.absorb(rows[first : first + SHARD], labels[first : first + SHARD])
    statistics = time.perf_counter() - start
    other = learner.head.blank(thin_limit=0)
    other.absorb(rows[:SHARD], labels[:SHARD])
    arrays: list[pickle.PickleBuffer] = []
    start = time.perf_counter()
    content = pickle.dumps(other, protocol=5, buffer_callback=arrays.append)
    copies = [bytes(array.raw()) for array in arrays]  # as Ray copies them into memory that processes share
    encoder.merge(pickle.loads(content, buffers=copies))
    hand_over = time.perf_counter() - start
    tracemalloc.start()
    listed = [path.parent / f"{number}.jpg" for number, path in enumerate(images)]
    path_bytes = tracemalloc.get_traced_memory()[0] / len(listed)
    sent_bytes = len(Shards(listed, [0] * len(listed), SHARD).pack(0)) / SHARD
    seconds = (each / len(images) for each in (decode, forward, statistics))
    return Unit(*seconds, hand_over, decoded[0].crops[0].nbytes, path_bytes, sent_bytes)


def _run(options: argparse.Namespace) -> Run:
    """One ``learn`` on a cluster of its own; all processes share as many processors as there are workers."""
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: options.workers]))
    ray = start_cluster(num_cpus=options.workers)
    learner = _learner(options)
    images, labels = _listed(options.folder, options.images)
    reductions: list[float] = []
    handed: list[int] = []
    usual = Counting._reduce

    def reduce(self: Counting) -> object:
        handed.append(len(self._holdings.holders))  # each hands over once, the last one to the driver
        start = time.perf_counter()
        learned = usual(self)
        reductions.append(time.perf_counter() - start)
        return learned

    Counting._reduce = reduce  # type: ignore[method-assign]
    start = time.perf_counter()
    with RayEngine(workers=options.workers).open(learner) as extractor:
        started = time.perf_counter() - start
        # The readers are processes, too, which start with the first task.
        extractor.learned(images[: 2 * SHARD], labels[: 2 * SHARD], None)
        pool = extractor._pool
        base = max(_peaks(ray, pool))
        start = time.perf_counter()
        learned = extractor.learned(images, labels, None)
        seconds = time.perf_counter() - start
        learner.head.merge(learned, labels)
        statistics = learned._statistics
        arrays = (statistics.gram, statistics.tail, statistics.cross, statistics.counts)
        each = sum(array.nbytes for array in arrays if array is not None)
        workers = max(_peaks(ray, pool))
    assert learner.head.samples == len(images)
    driver = peak_megabytes() or math.nan
    return Run(
        options.workers,
        len(images),
        seconds,
        started,
        reductions[-1],
        handed[-1],
        handed[-1] * each,
        driver,
        workers,
        base,
    )


def _peaks(ray: object, pool: object) -> list[float]:
    def peak(_worker: Worker) -> float:
        return peak_megabytes() or math.nan

    return ray.get([member.handle.__ray_call__.remote(peak) for member in pool.members.values()])  # type: ignore[attr-defined]


def _show(console: Console, options: argparse.Namespace, unit: Unit, one: Run, two: Run, large: Run) -> None:
    backbone = load_backbone(options.backbone)
    size = options.projection_dim
    packed = 8 * size * (size + 1) // 2
    console.print(
        f"{backbone.name} at {backbone.image_size} px, M = {size}, {CLASSES} classes, JPEG files of {SIDE} px; "
        "a worker is one processor, which also reads its share of the images"
    )

    table = Table("one image, one processor, without Ray", "ms", "share", title="unit costs", title_justify="left")
    for name in ("decode", "forward", "statistics"):
        value = getattr(unit, name)
        table.add_row(name, f"{1e3 * value:.2f}", f"{value / unit.image:.0%}")
    table.add_row("all", f"{1e3 * unit.image:.2f}", "100%")
    table.add_section()
    table.add_row("one hand-over of statistics: copied, and added", f"{1e3 * unit.hand_over:.0f}", "")
    console.print(table)

    table = Table("", "1 worker", "2 workers", "ratio", title="measured on Ray", title_justify="left")
    table.add_row("images", f"{one.images:,}", f"{two.images:,}", "")
    table.add_row("seconds of learning", f"{one.seconds:.1f}", f"{two.seconds:.1f}", f"{one.seconds / two.seconds:.2f}")
    rates = [run.images / run.seconds for run in (one, two)]
    table.add_row("images a second", *(f"{rate:.0f}" for rate in rates), f"{rates[1] / rates[0]:.2f}")
    predicted = [unit.learning(run.images, run.workers) + unit.reduction(run.workers) for run in (one, two)]
    table.add_row("seconds by the model", *(f"{each:.1f}" for each in predicted), f"{predicted[0] / predicted[1]:.2f}")
    factors = [run.seconds / each for run, each in zip((one, two), predicted, strict=True)]
    table.add_row("measured / model", *(f"{each:.2f}" for each in factors), "")
    table.add_row("of them, reduction (s)", *(f"{run.reduce_seconds:.2f}" for run in (one, two)), "")
    reductions = [unit.reduction(run.workers) for run in (one, two)]
    table.add_row("reduction by the model (s)", *(f"{each:.2f}" for each in reductions), "")
    shares = [run.reduce_seconds / run.seconds for run in (one, two)]
    table.add_row("reduction, share", *(f"{share:.1%}" for share in shares), "")
    table.add_row("hand-overs of statistics", *(str(run.hand_overs) for run in (one, two)), "")
    table.add_row("MiB moved by them", *(f"{run.moved_bytes / MIB:.0f}" for run in (one, two)), "")
    each_batch = [-(-run.images // BATCH) * packed / MIB for run in (one, two)]
    table.add_row("MiB if moved once a batch", *(f"{value:,.0f}" for value in each_batch), "")
    table.add_row("start of the workers (s)", *(f"{run.start_seconds:.1f}" for run in (one, two)), "")
    table.add_row("peak MiB of a worker", *(f"{run.worker_megabytes:.0f}" for run in (one, two)), "")
    expected = [run.base_megabytes + memory_of_statistics(size, CLASSES) / MIB for run in (one, two)]
    table.add_row("peak MiB by the model", *(f"{value:.0f}" for value in expected), "")
    console.print(table)

    table = Table("images", "peak MiB of the driver", title="memory of the driver, 2 workers", title_justify="left")
    for run in (two, large):
        table.add_row(f"{run.images:,}", f"{run.driver_megabytes:.0f}")
    growth = (large.driver_megabytes - two.driver_megabytes) * MIB / (large.images - two.images)
    console.print(table)
    console.print(
        f"{large.driver_megabytes / two.driver_megabytes:.3f} times the memory for {large.images / two.images:.0f} "
        f"times the images: {_growth(growth)}, where its path takes {unit.path_bytes:.0f} and its pixels "
        f"would take {unit.crop_bytes:,}"
    )
    _show_model(console, unit, size, factors[1], two)


def memory_of_statistics(size: int, classes: int) -> int:
    """Bytes of a worker's own statistics, and of those that pass through it in the reduction."""
    return 2 * (8 * size * (size + 1) // 2 + 8 * size * classes) + 8 * 256 * size


def _growth(bytes_an_image: float) -> str:
    """What an image more takes; a process that happened to take less the second time says nothing of that."""
    return f"{bytes_an_image:,.0f} bytes an image" if bytes_an_image > 0 else "no growth that can be told"


def _show_model(console: Console, unit: Unit, size: int, factor: float, measured: Run) -> None:
    images, workers, part, classes = 10**8, 64, 10**6, 1000
    packed = 8 * size * (size + 1) // 2
    statistics = packed + 8 * size * classes
    parts, rounds = images // part, math.ceil(math.log2(workers)) + 1
    slower = max(1.0, measured.reduce_seconds / unit.reduction(measured.workers))
    hand_over = slower * unit.hand_over * statistics / (measured.moved_bytes / measured.hand_overs)
    compute = factor * unit.learning(images, workers)
    travel = statistics / NETWORK
    reduction = parts * rounds * (hand_over + travel)
    windows = images / (SHARD * WINDOW)
    table = Table("", "model", "how", title=f"{images:,} images on {workers} workers", title_justify="left")
    rows = [
        (
            "compute",
            f"{compute / 3600:.2f} h",
            f"images × {1e3 * unit.image:.2f} ms / workers × {factor:.2f} (measured)",
        ),
        (
            "reduction",
            f"{reduction / 60:.1f} min",
            f"{parts} parts of {part:,} × {rounds} rounds × ({hand_over:.2f} s + {travel:.2f} s at 10 Gb/s)",
        ),
        ("share of the reduction", f"{reduction / (compute + reduction):.1%}", ""),
        ("speed-up of 64 workers", f"{(compute * workers) / (compute + reduction):.1f}", "compute × workers / all"),
        ("paths to readers", _size(images * unit.sent_bytes), f"{unit.sent_bytes:.0f} bytes an image"),
        ("crops to workers", _size(images * unit.crop_bytes), "within a machine by shared memory"),
        ("statistics", _size(parts * workers * statistics), f"packed G, and C of {classes:,} classes, once a part"),
        ("… if once a batch", _size(images / BATCH * statistics), "what a sum after every batch would move"),
        (
            "memory of a worker",
            _size(measured.base_megabytes * MIB + memory_of_statistics(size, classes)),
            "base + 2 × statistics",
        ),
        (
            "paths in the driver",
            _size(part * unit.path_bytes),
            f"of one part; {windows:,.0f} windows of {WINDOW} shards in all",
        ),
    ]
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def _write(page: Path, text: str) -> None:
    """Replaces the printed part of a page."""
    content = page.read_text(encoding="utf-8")
    before, _, rest = content.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after and END not in content:
        sys.exit(f"{page} has no lines {BEGIN} and {END}")
    lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
    page.write_text(f"{before}{BEGIN}\n```\n{lines}\n```\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
