"""What the feature cache saves: KEM on CIFAR-100 in several streams, with it and without, in one run.

python benchmarks/cache.py
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from common import DATA, VIT_TINY
from rich.console import Console
from rich.table import Table

from foro.features.cache import FeatureCache
from foro.research.protocol.experiment_setup import DataOptions, Setup
from foro.research.protocol.runner import Runner
from foro.research.protocol.spec import RunSpec


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default=str(VIT_TINY))
    parser.add_argument("--image-size", type=int, default=112)
    parser.add_argument("--train-per-class", type=int, default=20, help="CIFAR-100 itself has 500")
    parser.add_argument("--test-per-class", type=int, default=5, help="CIFAR-100 itself has 100")
    parser.add_argument("--tasks", default="5,10")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--projection-dims", default="512,1024")
    options = parser.parse_args()
    data = DataOptions(str(DATA), options.train_per_class, options.test_per_class)
    setup = Setup(options.backbone, options.image_size, data)
    specs = [
        RunSpec("cifar100", int(tasks), "kem", seed, {"projection_dim": int(width)})
        for width in options.projection_dims.split(",")
        for tasks in options.tasks.split(",")
        for seed in range(options.seeds)
    ]
    setup.backbone.fingerprint  # noqa: B018  loaded before the clock starts
    table = Table("T", "M", "seed", "without (s)", "with (s)", "ratio", "same accuracies")
    table.title = (
        f"KEM, {setup.dataset('cifar100').description}, {setup.backbone.name} at {setup.backbone.image_size} px"
    )
    totals = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        cached = Runner(setup, Path(folder, "with"), FeatureCache(Path(folder, "features")))
        plain = Runner(setup, Path(folder, "without"))
        for spec in specs:
            seconds, matrices = [], []
            for runner in (plain, cached):
                start = time.perf_counter()
                record = runner.run(spec)
                seconds.append(time.perf_counter() - start)
                assert record is not None
                matrices.append(record.content["accuracy"])
            totals = [total + each for total, each in zip(totals, seconds, strict=True)]
            same = "yes" if matrices[0] == matrices[1] else "no"
            cells = (spec.tasks, spec.overrides["projection_dim"], spec.seed)
            table.add_row(*map(str, cells), *(f"{s:.1f}" for s in seconds), f"{seconds[0] / seconds[1]:.1f}×", same)
        size = sum(path.stat().st_size for path in Path(folder, "features").rglob("*") if path.is_file()) / 2**20
    table.add_section()
    table.add_row("all", "", "", *(f"{total:.1f}" for total in totals), f"{totals[0] / totals[1]:.1f}×", "")
    table.caption = f"the cache took {size:.1f} MB"
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
