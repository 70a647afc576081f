"""Print the shares of a training run at every tenth of it as a table, and draw all of them.

python pretrain/curve.py --log pretrain/nano@2/log.jsonl --picture pretrain/nano@2/curve.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

PARTS = {
    "patches": "patch tokens",
    "cls": "class tokens",
    "last": "last class token",
    "logits": "logits",
}
Lines = list[dict[str, float]]


def table(lines: Lines, rows: int = 10) -> str:
    """Write the processor time and the mean losses of each of `rows` parts of the run, by their last step."""
    heading = ("up to step", "core-minutes", "learning rate", *PARTS.values())
    shown = [heading, ("---:",) * len(heading)]
    for row in range(rows):
        part = lines[len(lines) * row // rows : len(lines) * (row + 1) // rows]
        last = part[-1]
        losses = ([line[name] for line in part if name in line] for name in PARTS)
        means = (f"{fmean(each):.3f}" if each else "" for each in losses)
        shown.append((f"{last['step']:.0f}", f"{last['seconds'] / 60:.0f}", f"{last['rate']:.2f}", *means))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in shown)


def draw(lines: Lines) -> Figure:
    """Draw each part of the loss against the step."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for key, name in PARTS.items():
        found = [(line["step"], line[key]) for line in lines if key in line]
        steps, values = zip(*found, strict=True)
        axes.plot(steps, [fmean(values[max(0, i - 4) : i + 1]) for i in range(len(values))], label=name)
    axes.set(xlabel="step", ylabel="distance (1: the best constant)", yscale="log", ylim=(None, 2))
    axes.grid(alpha=0.3, which="both")
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
