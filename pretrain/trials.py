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
from statistics import fmean

import torch
from forward_pass import forward
from monitor import scores
from recipe import Recipe
from student import load_exported, write_atomically
from train import LOG_EVERY, train

BASE = Recipe(
    steps=300,
    batch=96,
    images=9_600,
    side=64,
    drop=0.5,
    drop_end=0.9,
    warmup=0.15,
    plateau_end=0.45,
    dim=192,
    depth=6,
    heads=3,
    depth_weight=0.0,
    start="",
    matrix_lr=3e-3,
    lr=1.5e-3,
)
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
SPEED = "pictures a core-second"


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


def read_log(folder: Path) -> list[dict[str, float]]:
    """Return the lines of a run's log, none if it has not begun."""
    log = folder / "log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def losses(lines: list[dict[str, float]], unit: str, limit: float) -> str:
    """Write the mean losses of the last 50 steps that a run took within `limit` steps or seconds."""
    last = [line for line in lines if line[unit] <= limit][-50 // LOG_EVERY :]
    return ", ".join(f"{fmean(line[part] for line in last):.3f}" for part in PARTS)


def compare(work: Path) -> str:
    """Write the table of the variants that have begun, from their logs and, where they have ended, their scores."""
    logs = {name: lines for name in VARIANTS if (lines := read_log(folder_of(work, name)))}
    steps = min(lines[-1]["step"] for lines in logs.values())
    seconds = min(lines[-1]["seconds"] for lines in logs.values())
    rows = []
    for name, lines in logs.items():
        folder = folder_of(work, name)
        scored = folder / "scores.json"
        found = json.loads(scored.read_text()) if scored.exists() else {}

        def cell(*keys: str, digits: int = 1, found: dict[str, float] = found) -> str:
            return ", ".join(f"{found[key]:.{digits}f}" for key in keys) if found else ""

        rows.append(
            {
                "variant": name,
                "MB": f"{(folder / 'model' / 'model.safetensors').stat().st_size / 1e6:.1f}",
                "pictures a core-second": cell(SPEED, digits=0),
                "steps run": str(lines[-1]["step"]),
                "core-seconds": f"{lines[-1]['seconds']:.0f}",
                f"losses after {steps} steps": losses(lines, "step", steps),
                f"losses after {seconds:.0f} core-seconds": losses(lines, "seconds", seconds),
            }
            | {data: cell(f"{data}, class token", f"{data}, readout") for data in ("CIFAR-100", "birds", "digits")}
        )
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
    parser.add_argument("--print-only", action="store_true", help="print the table of what has been run")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, recipe in {} if options.print_only else VARIANTS.items():
        folder = folder_of(options.work, name)
        if not (folder / "scores.json").exists():
            train(recipe, options.data, options.work, folder)
            found = {SPEED: pictures_a_second(folder / "model")}
            found |= scores(options.data, folder / "model", CIFAR_A_CLASS)
            write_atomically(folder / "scores.json", json.dumps(found).encode())
    print(compare(options.work))


if __name__ == "__main__":
    main()
