"""Train the embedded backbone `nano` from scratch by distilling a ViT-Ti/16 on Tiny-ImageNet.

    python pretrain/train.py --data ../shared/data --work runs/pretrain

An interrupted run continues from its last checkpoint when the same command is given again, and ends with the
same weights as one that was never interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import torch
from images import load_images
from muon import Muon
from objective import Objective
from pictures import draw
from recipe import Recipe, add_options, from_options
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from student import build_student, export, fit_embedding, load_exported
from teacher import NAME, load_teacher
from torch import nn

TARS = ("tiny-imagenet-train-64px.tar", "tiny-imagenet-train-64px-more.tar")
SAVE_EVERY = 240.0
"""Seconds between checkpoints."""

LOG_EVERY = 10
"""Steps between lines of the log, each of which holds means over these steps."""

FITTED = 30
"""Batches that the embedding is fitted on."""


class Run:
    """One training run: the student, the optimisers, the step reached and the processor time that it took."""

    def __init__(self, recipe: Recipe) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe = recipe
        self.student = load_exported(Path(recipe.start), recipe.side) if recipe.start else build_student(recipe.side)
        self.step, self.seconds = 0, 0.0
        named = list(self.student.named_parameters())
        matrices = [(n, p) for n, p in named if n.startswith("blocks.") and p.ndim == 2]
        rest = [p for n, p in named if not (n.startswith("blocks.") and p.ndim == 2)]
        self.optimisers: list[torch.optim.Optimizer] = [
            Muon(matrices, weight_decay=recipe.weight_decay),
            torch.optim.AdamW(rest, betas=(0.9, 0.98), weight_decay=0.0),
        ]

    def save(self, path: Path) -> None:
        """Write everything that is needed to continue, atomically."""
        partial = path.with_name(path.name + ".partial")
        state = {
            "recipe": asdict(self.recipe),
            "step": self.step,
            "seconds": self.seconds,
            "student": self.student.state_dict(),
            "optimisers": [o.state_dict() for o in self.optimisers],
        }
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)

    def load(self, path: Path) -> None:
        """Continue from a file written by `save`; a different recipe is refused."""
        state = torch.load(path, weights_only=True)
        if state["recipe"] != asdict(self.recipe):
            raise SystemExit(f"{path} was made by another recipe: {state['recipe']}")
        self.step, self.seconds = state["step"], state["seconds"]
        self.student.load_state_dict(state["student"])
        for optimiser, kept in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)

    def update(self) -> None:
        """Take a step along the gradients."""
        factor = rate(self.step, self.recipe)
        nn.utils.clip_grad_norm_(self.student.parameters(), 5.0)
        for optimiser, peak in zip(self.optimisers, (self.recipe.matrix_lr, self.recipe.lr), strict=True):
            for group in optimiser.param_groups:
                group["lr"] = peak * factor
            optimiser.step()
            optimiser.zero_grad()
        self.step += 1


def rate(step: int, recipe: Recipe) -> float:
    """Return the part of the peak learning rate at `step`: a warm-up, a plateau, a line to zero."""
    steps = recipe.steps
    return min(1.0, (step + 1) / (recipe.warmup * steps), (steps - step) / ((1 - recipe.plateau_end) * steps))


def alone_at(step: int, recipe: Recipe) -> bool:
    """Whether every block learns by itself at `step`."""
    return step < recipe.alone_end * recipe.steps


def drop_at(step: int, recipe: Recipe) -> float:
    """Return the part of the patches left out at `step`; none towards the end."""
    if step >= recipe.drop_end * recipe.steps:
        return 0.0
    return recipe.drop_alone if alone_at(step, recipe) else recipe.drop


def train(recipe: Recipe, data: Path, cache: Path, work: Path) -> None:
    """Train from the last checkpoint in `work`, or from nothing, to the end of the schedule.

    Args:
        recipe: what to train.
        data: folder of the images and of the teacher.
        cache: folder of the decoded images, which runs may share.
        work: folder of the checkpoint, the log and the exported model (`model/`).
    """
    for folder in (cache, work):
        folder.mkdir(parents=True, exist_ok=True)
    images = load_images([data / tar for tar in TARS], cache)
    teacher = load_teacher(data / NAME, recipe.teacher_side)
    run = Run(recipe)
    shown = [draw(images, recipe, recipe.steps + number, 0.0) for number in range(FITTED)]
    objective = Objective(teacher, shown[0], recipe)
    checkpoint, log = work / "checkpoint.pt", work / "log.jsonl"
    if checkpoint.exists():
        run.load(checkpoint)
    elif not recipe.start:
        fit_embedding(run.student, teacher, shown)
    del shown
    log.touch()
    kept = [line for line in log.read_text().splitlines() if json.loads(line)["step"] <= run.step]
    log.write_text("".join(line + "\n" for line in kept))

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    saved, began = time.monotonic(), time.process_time() - run.seconds
    sums: Counter[str] = Counter()
    with Progress(*columns) as progress, log.open("a") as lines:
        task = progress.add_task("nano", total=recipe.steps, completed=run.step)
        while run.step < recipe.steps:
            pictures = draw(images, recipe, run.step, drop_at(run.step, recipe))
            losses = objective.learn(run.student, pictures, alone_at(run.step, recipe))
            run.update()
            run.seconds = time.process_time() - began
            sums.update({"steps": 1, **losses})
            if run.step % LOG_EVERY == 0:
                record = {"step": run.step, "seconds": run.seconds, "rate": rate(run.step, recipe)}
                record |= {name: total / sums["steps"] for name, total in sums.items() if name != "steps"}
                sums.clear()
                lines.write(json.dumps({name: round(value, 4) for name, value in record.items()}) + "\n")
                lines.flush()
                if time.monotonic() - saved > SAVE_EVERY or run.step == recipe.steps:
                    saved = time.monotonic()
                    run.save(checkpoint)
                    export(run.student.state_dict(), recipe, work / "model")
            progress.update(task, completed=run.step, description=f"nano, loss {losses['loss']:.3f}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="The defaults make `nano`.",
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help=f"folder with {TARS[0]} and {NAME}/")
    parser.add_argument(
        "--work", type=Path, default=Path("runs/pretrain"), help="folder of images, checkpoint, log and model"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default: %(default)s)")
    add_options(parser)
    return parser.parse_args()


def main() -> None:
    """Train, from the last checkpoint if there is one."""
    options = arguments()
    torch.set_num_threads(options.threads)
    train(from_options(options), options.data, options.work, options.work)


if __name__ == "__main__":
    main()
