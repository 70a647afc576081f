"""Short runs of variants of the recipe, and the table that compares them.

    python pretrain/trials.py --data ../shared/data --work runs/pretrain

Every variant sees the same images in the same order from the same seed. One that has ended is not run again, so
the command continues where it was interrupted, and prints the table when all have ended. The variants share the
teacher's targets with the final run.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import torch
from forward_pass import forward
from monitor import scores
from recipe import Recipe
from student import load_exported, write_atomically
from train import train

BASE = Recipe(steps=300, batch=96, images=9_600, views=2, warmup=0.15, dim=192, depth=6, heads=3, depth_weight=0.0)
CIFAR_A_CLASS = 20
"""Training images of each class of CIFAR-100 in the scores of the trials."""

VARIANTS = {
    "192 × 6": BASE,
    "192 × 6, targets of earlier blocks": replace(BASE, depth_weight=2.0),
    "192 × 9": replace(BASE, depth=9),
    "256 × 6": replace(BASE, dim=256, heads=4),
    "192 × 6, 3/4 left out": replace(BASE, drop=0.75),
    "192 × 6, 96 px": replace(BASE, side=96),
    "192 × 6, patch 16, 128 px": replace(BASE, side=128, patch=16),
    "192 × 6, 4 registers": replace(BASE, registers=4),
}
PARTS = ("cls", "logits", "tokens")


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


def losses(work: Path, budget: float = math.inf) -> dict[str, float]:
    """Return the processor time of a run, and its losses in the last 50 steps before `budget` core-seconds."""
    lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["seconds"] <= budget][-5:]
    return {part: fmean(line[part] for line in last) for part in PARTS} | {"seconds": lines[-1]["seconds"]}


def compare(work: Path) -> str:
    """Write the table of the variants that have ended, from their logs and scores."""
    ended = [name for name in VARIANTS if (folder_of(work, name) / "scores.json").exists()]
    budget = losses(folder_of(work, ended[0]))["seconds"]
    rows = []
    for name in ended:
        folder = folder_of(work, name)
        end, then = losses(folder), losses(folder, budget)
        measured = json.loads((folder / "scores.json").read_text())
        size = (folder / "model" / "model.safetensors").stat().st_size
        cells = {
            "variant": name,
            "MB": f"{size / 1e6:.1f}",
            "pictures a core-second": f"{measured.pop('pictures a core-second'):.0f}",
            "core-seconds of training": f"{end['seconds']:.0f}",
            "loss: class token, logits, patch tokens": ", ".join(f"{end[part]:.3f}" for part in PARTS),
            f"the same after {budget:.0f} core-seconds": ", ".join(f"{then[part]:.3f}" for part in PARTS),
        }
        for data in ("CIFAR-100", "birds", "digits"):
            pair = (measured[f"{data}, {readout}"] for readout in ("class token", "readout"))
            cells[f"{data}: class token, readout"] = ", ".join(f"{value:.1f}" for value in pair)
        rows.append(cells)
    heading = [list(rows[0]), ["---"] + ["---:"] * (len(rows[0]) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [*heading, *(list(cells.values()) for cells in rows)])


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
    print(compare(options.work))


if __name__ == "__main__":
    main()
