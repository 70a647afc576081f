"""How long ``foro --help`` and ``foro predict`` take from nothing, beside imports that no prediction can do without.

python benchmarks/startup.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.table import Table

from foro import Learner
from foro.images.digits import read_digits

FORO = "from foro.cli import main; main()"


def best(code: str, arguments: list[str], repeats: int) -> tuple[float, float]:
    """Seconds, and those that a processor worked, of the fastest of so many processes."""
    times, worked = [], []
    for _ in range(repeats):
        start, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        times.append(time.perf_counter() - start)
        worked.append(after.children_user - before.children_user + after.children_system - before.children_system)
    return min(times), min(worked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    (images, labels), _ = read_digits()
    with tempfile.TemporaryDirectory() as folder:
        model, image = Path(folder, "digits.foro"), Path(folder, "digit.png")
        learner = Learner("nano", policy="none")
        learner.learn(images[:200], labels[:200])
        learner.save(model)
        Image.fromarray(images[0]).save(image)
        bare = best("import numpy, onnxruntime", [], options.repeats)
        rows = [
            ("python -c 'import numpy, onnxruntime'", bare),
            ("foro --help", best(FORO, ["--help"], options.repeats)),
            ("foro predict with nano", best(FORO, ["predict", str(model), str(image)], options.repeats)),
        ]
    table = Table(title=f"Start-up: the fastest of {options.repeats} processes")
    for heading in ("", "seconds", "of a processor", "against the bare imports"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, (seconds, worked) in rows:
        table.add_row(name, f"{seconds:.2f}", f"{worked:.2f}", f"{seconds / bare[0]:.2f} ×")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
