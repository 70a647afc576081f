"""Print the losses of a training run at every tenth of it as a table, and draw all of them.

python pretrain/curve.py --log pretrain/nano@2/log.jsonl --picture pretrain/nano@2/curve.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

PARTS = ("loss", "cls", "logits", "tokens", "label", "depths")
NAMES = ("loss", "class token", "logits", "patch tokens", "labels", "earlier blocks")


def table(lines: list[dict[str, float]], rows: int = 10) -> str:
    """Write the processor time and the mean losses of each of `rows` parts of the run, by their last step."""
    heading = ("up to step", "core-minutes", "of the teacher", "learning rate", *NAMES)
    shown = [heading, ("---:",) * len(heading)]
    for row in range(rows):
        part = lines[len(lines) * row // rows : len(lines) * (row + 1) // rows]
        last = part[-1]
        minutes = (f"{last[key] / 60:.0f}" for key in ("seconds", "teacher_seconds"))
        losses = (f"{fmean(line[name] for line in part):.3f}" for name in PARTS)
        shown.append((f"{last['step']:.0f}", *minutes, f"{last['rate']:.2f}", *losses))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in shown)


def draw(lines: list[dict[str, float]]) -> Figure:
    """Draw each loss against the step, as a part of its first value."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for key, name in zip(PARTS, NAMES, strict=True):
        first = fmean(line[key] for line in lines[:5])
        smooth = [fmean(line[key] for line in lines[max(0, i - 4) : i + 1]) / first for i in range(len(lines))]
        axes.plot([line["step"] for line in lines], smooth, label=name, linewidth=2 if key == "loss" else 1)
    axes.set(xlabel="step", ylabel="part of its value at the start")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, ncols=2)
    return figure


def main() -> None:
    """Print the table and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, default=Path("runs/pretrain/log.jsonl"), help="of a run of train.py")
    parser.add_argument("--picture", type=Path, help="file to draw the losses into")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.log.read_text().splitlines()]
    print(table(lines))
    if options.picture:
        draw(lines).savefig(options.picture, dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
