"""Do threads pay, on a busy machine too? ``foro learn`` and ``foro predict`` with nano, all threads against one.

    python benchmarks/threads.py [--repeats 3] [--source ../foro-0.1/src]

Every command runs in turns with all threads and with OMP_NUM_THREADS=1, on the machine as it is and beside a process
for each core that never rests. Aims: processor time at most 1.3 times that of one thread, wall time at most 1.1 times.
With ``--source`` the commands are those of another checkout.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from foro.util.system import allowed_cores

FORO = [sys.executable, "-c", "from foro.cli import main; main()"]
BUSY = [sys.executable, "-c", "while True: pass"]
CLASSES = 16
Times = list[tuple[float, float]]
"""Seconds, and seconds of a processor, of each repetition."""


def write_images(folder: Path, count: int, seed: int) -> Path:
    """A folder of classes: coloured clouds with some noise, as JPEGs of 400 × 300 pixels."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        clouds = generator.integers(0, 255, (6, 8, 3)) // 2 + 8 * (number % CLASSES)
        image = Image.fromarray(clouds.astype(np.uint8)).resize((400, 300), Image.Resampling.BICUBIC)
        path = folder / f"class {number % CLASSES}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, quality=90)
    return folder


def run(arguments: list[str], threads: int | None) -> tuple[float, float]:
    """Seconds, and seconds of a processor, of one ``foro`` command."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)
    start, before = time.perf_counter(), os.times()
    subprocess.run(
        [*FORO, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    after = os.times()
    worked = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - start, worked


@contextmanager
def busy_cores(busy: bool) -> Iterator[None]:
    """A process for each core that never rests, as long as the context lasts."""
    processes = [subprocess.Popen(BUSY) for _ in range(allowed_cores())] if busy else []
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--source", type=Path, help="src/ of the checkout whose commands are measured (default: this)")
    options = parser.parse_args()
    if options.source:
        os.environ["PYTHONPATH"] = str(options.source.resolve())
    table = Table(title=f"nano, {allowed_cores()} cores: default threads against one, median of {options.repeats}")
    for heading in ("", "machine", "seconds", "with one thread", "ratio", "of a processor", "with one thread", "ratio"):
        table.add_column(heading, justify="left" if heading in ("", "machine") else "right")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        images = {count: write_images(folder / str(count), count, seed=count) for count in (1, 64, 512)}
        taught, model = folder / "taught.foro", folder / "model.foro"
        run(["learn", str(taught), str(images[512]), "--policy", "none"], None)
        commands = {f"learn {count}": ["learn", str(model), str(images[count])] for count in images}
        commands["predict 512"] = ["predict", str(taught), str(images[512])]
        for name, arguments in commands.items():
            for machine in ("as it is", "busy"):
                times: dict[int | None, Times] = {None: [], 1: []}
                with busy_cores(machine == "busy"):
                    for repeat in range(options.repeats):
                        for threads in sorted(times, key=lambda each: (each is None) ^ (repeat % 2)):
                            model.unlink(missing_ok=True)
                            if name == "learn 1":
                                shutil.copy(taught, model)
                            new = ["--policy", "none"] if arguments[0] == "learn" and not model.exists() else []
                            times[threads].append(run([*arguments, *new], threads))
                cells = []
                for kind in (0, 1):
                    ours, one = (statistics.median(each[kind] for each in times[key]) for key in (None, 1))
                    cells += [f"{ours:.2f}", f"{one:.2f}", f"{ours / one:.2f} ×"]
                table.add_row(name, machine, *cells)
    Console(width=120).print(table, f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
