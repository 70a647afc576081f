"""Peak resident memory of the first ``foro learn`` of a model at M = 8192, each in a process of its own.

python benchmarks/memory.py
python benchmarks/memory.py --images 64 512 --backbones nano
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import BACKBONES, images_of
from rich.console import Console
from rich.table import Table

AIMS = {"nano": "250 for 64 images, 450 for any number", "vit-tiny-224": "600"}


def peak(backbone: str, images: int) -> float:
    """Megabytes of a process that learns the first birds of CUB-200."""
    birds = images_of("cub200", 8, 4).train
    rows = [f"{path},{label}\n" for path, label in zip(birds.images[:images], birds.labels[:images], strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "birds.csv"
        listed.write_text("".join(["path,label\n", *rows]))
        learn = ["learn", f"{folder}/birds.foro", str(listed), "--backbone", str(BACKBONES[backbone][0]), "--quiet"]
        started = subprocess.Popen([sys.executable, "-c", "from foro.cli import main; main()", *learn])
        _, status, used = os.wait4(started.pid, 0)
    if status:
        sys.exit(f"foro learn of {images} images with {backbone} failed")
    return float(used.ru_maxrss) / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", nargs="+", type=int, default=[64, 512, 1024, 1500], help="at most 1600")
    parser.add_argument("--backbones", nargs="+", choices=list(AIMS), default=list(AIMS))
    options = parser.parse_args()
    table = Table(title="Peak MB of the first foro learn, birds of CUB-200, M = 8192")
    table.add_column("backbone")
    for images in options.images:
        table.add_column(f"{images} images", justify="right")
    table.add_column("aim")
    for backbone in options.backbones:
        table.add_row(backbone, *(f"{peak(backbone, images):.0f}" for images in options.images), AIMS[backbone])
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
