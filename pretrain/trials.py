"""Short runs of variants of the recipe, and the table that compares them.

    python pretrain/trials.py --data ../shared/data --work runs/pretrain

Every variant sees the same images in the same order from the same seed. One that has ended is not run again, so
the command continues where it was interrupted, and prints the table when all have ended. The variants share the
teacher's targets with the final run.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import torch
from forward_pass import forward
from monitor import scores
from recipe import Recipe
from rich.console import Console
from rich.table import Table
from student import load_exported, write_atomically
from train import train

BASE = Recipe(steps=240, batch=64, warmup=0.15, dim=192, depth=6, heads=3, depth_weight=0.0)
CIFAR_A_CLASS = 20
"""Training images of each class of CIFAR-100 in the scores of the trials."""

VARIANTS = {
    "192 × 6": BASE,
    "192 × 9": replace(BASE, depth=9),
    "256 × 6": replace(BASE, dim=256, heads=4),
    "192 × 6, targets of 3 depths": replace(BASE, depth_weight=2.0),
    "192 × 6, 3/4 left out": replace(BASE, drop=0.75),
    "192 × 6, 96 px": replace(BASE, side=96),
    "192 × 6, patch 16, 128 px": replace(BASE, side=128, patch=16),
    "192 × 6, 4 registers": replace(BASE, registers=4),
}
PARTS = ("cls", "logits", "tokens", "label")


def pictures_a_second(folder: Path, count: int = 128) -> float:
    """Return how many pictures the exported model looks at in a second of one core, the best of three times."""
    model = load_exported(folder)
    side = model.patch_embed.img_size[0]
    x = torch.zeros(count, 3, side, side)
    times = []
    with torch.inference_mode():
        for _ in range(4):
            began = time.process_time()
            forward(model, x)
            times.append(time.process_time() - began)
    return count / min(times)


def summary(work: Path, budget: float) -> dict[str, float]:
    """Read off a run's log the processor time, the last losses, and the loss after `budget` core-seconds."""
    lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
    within = [line for line in lines if line["seconds"] <= budget]
    return {"seconds": lines[-1]["seconds"], "at budget": within[-1]["cls"]} | {part: lines[-1][part] for part in PARTS}


def compare(work: Path) -> Table:
    """Build the table from the logs and scores in the folders of the variants that have ended."""
    ended = [name for name in VARIANTS if (folder_of(work, name) / "scores.json").exists()]
    budget = summary(folder_of(work, ended[0]), float("inf"))["seconds"]
    rows = []
    for name in ended:
        folder = folder_of(work, name)
        measured = json.loads((folder / "scores.json").read_text())
        size = (folder / "model" / "model.safetensors").stat().st_size / 1e6
        rows.append({"MB": size} | summary(folder, budget) | measured)
    table = Table(title=f"{BASE.steps} steps of {BASE.batch} pictures, seed {BASE.seed}")
    table.add_column("variant")
    for heading in rows[0]:
        table.add_column(heading, justify="right")
    for name, row in zip(ended, rows, strict=True):
        table.add_row(name, *(f"{value:.3f}" if value < 3 else f"{value:.1f}" for value in row.values()))
    return table


def folder_of(work: Path, name: str) -> Path:
    """Return the folder of a variant's run."""
    return work / "trials" / name.replace(" × ", "x").replace(", ", "-").replace(" ", "-").replace("/", "of")


def main() -> None:
    """Run the variants that have not ended, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="as in train.py")
    parser.add_argument("--work", type=Path, default=Path("runs/pretrain"), help="as in train.py")
    parser.add_argument("--print-only", action="store_true", help="print the table of the variants that have ended")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, recipe in {} if options.print_only else VARIANTS.items():
        folder = folder_of(options.work, name)
        if not (folder / "scores.json").exists():
            train(recipe, options.data, options.work, folder)
            found = {"pictures a core-second": pictures_a_second(folder / "model")}
            found |= scores(options.data, folder / "model", CIFAR_A_CLASS)
            write_atomically(folder / "scores.json", json.dumps(found).encode())
    Console(width=200).print(compare(options.work))


if __name__ == "__main__":
    main()
