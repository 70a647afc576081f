"""Short runs of variants of the recipe, and the table that compares them.

    python pretrain/trials.py --data ../shared/data --work runs/pretrain

Every variant sees the same images from the same seed. One that has ended is not run again, so the command continues
where it was interrupted, and prints the table when all have ended.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import torch
from monitor import scores
from recipe import Recipe
from student import write_atomically
from train import train

BASE = Recipe(steps=200)
VARIANTS = {
    "the recipe": BASE,
    "no block by itself": replace(BASE, alone_end=0.0),
    "three quarters by themselves": replace(BASE, alone_end=0.75),
    "half the learning rates": replace(BASE, matrix_lr=BASE.matrix_lr / 2, lr=BASE.lr / 2),
    "twice the learning rates": replace(BASE, matrix_lr=BASE.matrix_lr * 2, lr=BASE.lr * 2),
    "no collages": replace(BASE, collage_every=0),
    "no changes of colour": replace(BASE, colour=0.0),
    "class token × 4": replace(BASE, cls_weight=4.0),
}
CIFAR_A_CLASS = 20
"""Training images of each class of CIFAR-100 in the scores of the trials."""


def compare(work: Path) -> str:
    """Write the table of the variants that have ended."""
    rows = []
    for name in VARIANTS:
        folder = folder_of(work, name)
        if not (folder / "scores.json").exists():
            continue
        found = json.loads((folder / "scores.json").read_text())
        last = json.loads((folder / "log.jsonl").read_text().splitlines()[-1])
        shares = {part: f"{last[part]:.3f}" for part in ("patches", "cls", "last", "logits")}
        both = {
            data: ", ".join(f"{found[f'{data}, {readout}']:.1f}" for readout in ("class token", "readout"))
            for data in ("CIFAR-100", "birds", "digits")
        }
        rows.append({"variant": name, "core-seconds": f"{last['seconds']:.0f}", **shares, **both})
    heading = [list(rows[0]), ["---"] + ["---:"] * (len(rows[0]) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [*heading, *(list(cells.values()) for cells in rows)])


def folder_of(work: Path, name: str) -> Path:
    """Return the folder of a variant's run."""
    return work / "trials" / name.replace(" × ", "x").replace(" ", "-")


def main() -> None:
    """Run the variants that have not ended, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="as in train.py")
    parser.add_argument("--work", type=Path, default=Path("runs/pretrain"), help="as in train.py")
    parser.add_argument("--print-only", action="store_true", help="print the table of what has been run")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, recipe in {} if options.print_only else VARIANTS.items():
        folder = folder_of(options.work, name)
        if not (folder / "scores.json").exists():
            train(recipe, options.data, options.work, folder)
            found = scores(options.data, folder / "model", CIFAR_A_CLASS)
            write_atomically(folder / "scores.json", json.dumps(found).encode())
    print(compare(options.work))


if __name__ == "__main__":
    main()
