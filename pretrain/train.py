"""Train the embedded backbone `nano` from scratch by distilling a ViT-Ti/16 on Tiny-ImageNet.

    python pretrain/train.py --data ../shared/data --work runs/pretrain

An interrupted run continues from its last checkpoint when the same command is given again, and ends with the
same weights as one that was never interrupted.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from batches import EASY, HARD, Batch, Batches, Difficulty
from forward_pass import forward
from images import load_images
from muon import Muon
from objective import Objective, measure
from recipe import Recipe, add_options, from_options
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn, track
from student import build_student, export, grow
from teacher import DEPTHS, NAME, Targets, load_teacher
from torch import nn

TARS = ("tiny-imagenet-train-64px.tar", "tiny-imagenet-train-64px-more.tar")
SAVE_EVERY = 240.0
"""Seconds between checkpoints."""

LOG_EVERY = 10
"""Steps between lines of the log, each of which holds means over these steps."""


class Run:
    """One training run: the student, its average, the training heads, the optimisers and the step reached.

    `seconds` is the processor time of the training, `teacher_seconds` that of the teacher's targets.
    """

    def __init__(self, recipe: Recipe, objective: Objective) -> None:
        self.recipe, self.objective = recipe, objective
        self.student = build_student(recipe.model_args)
        if recipe.start:
            grow(self.student, Path(recipe.start))
        self.average = copy.deepcopy(self.student).requires_grad_(False)
        self.step, self.seconds, self.teacher_seconds = 0, 0.0, 0.0
        self._depths = tuple(round(depth * recipe.depth / 12) for depth in DEPTHS) if recipe.depth_weight else ()
        named = list(self.student.named_parameters())
        matrices = [(n, p) for n, p in named if n.startswith("blocks.") and p.ndim == 2]
        rest = [p for n, p in named if not (n.startswith("blocks.") and p.ndim == 2)]
        decayed = [p for p in objective.parameters() if p.ndim == 2]
        rest += [p for p in objective.parameters() if p.ndim != 2]
        self.optimisers: list[torch.optim.Optimizer] = [
            Muon(matrices, weight_decay=recipe.weight_decay),
            torch.optim.AdamW(
                [{"params": rest, "weight_decay": 0.0}, {"params": decayed, "weight_decay": recipe.weight_decay}],
                betas=(0.9, 0.98),
            ),
        ]

    def save(self, path: Path) -> None:
        """Write everything that is needed to continue, atomically."""
        partial = path.with_name(path.name + ".partial")
        state = {
            "recipe": asdict(self.recipe),
            "step": self.step,
            "seconds": self.seconds,
            "teacher_seconds": self.teacher_seconds,
            "student": self.student.state_dict(),
            "average": self.average.state_dict(),
            "objective": self.objective.state_dict(),
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
        self.step, self.seconds, self.teacher_seconds = state["step"], state["seconds"], state["teacher_seconds"]
        self.student.load_state_dict(state["student"])
        self.average.load_state_dict(state["average"])
        self.objective.load_state_dict(state["objective"])
        for optimiser, kept in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)

    def learn(self, batch: Batch) -> dict[str, float]:
        """Take one step on `batch` and return the loss with its unweighted parts."""
        said = forward(self.student, batch.x, batch.keep, self._depths)
        parts = self.objective(said, batch.wanted, batch.labels)
        loss = self.objective.total(parts)
        loss.backward()
        nn.utils.clip_grad_norm_([*self.student.parameters(), *self.objective.parameters()], 5.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad()
        self.step += 1
        return {"loss": loss.item(), **{name: part.item() for name, part in parts.items()}}

    def update_average(self) -> None:
        """Move the average towards the student; early on it follows faster, so that it forgets the start."""
        decay = min(self.recipe.average, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for kept, new in zip(self.average.parameters(), self.student.parameters(), strict=True):
                kept.lerp_(new, 1 - decay)


def rate(step: int, recipe: Recipe) -> float:
    """Return the part of the peak learning rate at `step`: a warm-up, a plateau, a line to zero."""
    steps = recipe.steps
    return min(1.0, (step + 1) / (recipe.warmup * steps), (steps - step) / ((1 - recipe.plateau_end) * steps))


def difficulty_at(step: int, recipe: Recipe) -> Difficulty:
    """Return the difficulty at `step`: hard on the plateau of the learning rate, easy on its way down."""
    return HARD if step < recipe.plateau_end * recipe.steps else EASY


def drop_at(step: int, recipe: Recipe) -> float:
    """Return the part of the patches left out at `step`; none towards the end."""
    return recipe.drop if step < recipe.drop_end * recipe.steps else 0.0


def look(recipe: Recipe, data: Path, cache: Path, number: int) -> None:
    """Let the teacher look at view `number` of all images, from where it was interrupted."""
    cache.mkdir(parents=True, exist_ok=True)
    images = load_images([data / tar for tar in TARS], cache)
    targets = Targets(load_teacher(data / NAME, recipe.teacher_side), images, cache, recipe, (number,))
    for rows in track(np.array_split(np.arange(len(images)), len(images) // 1000), f"view {number}"):
        targets.look(number, rows)
        targets.save()


def train(recipe: Recipe, data: Path, cache: Path, work: Path) -> None:
    """Train from the last checkpoint in `work`, or from nothing, to the end of the schedule.

    Args:
        recipe: what to train.
        data: folder of the images and of the teacher.
        cache: folder of the decoded images and of the teacher's targets, which runs may share one after another.
        work: folder of the checkpoint, the log and the exported model (`model/`).
    """
    for folder in (cache, work):
        folder.mkdir(parents=True, exist_ok=True)
    images = load_images([data / tar for tar in TARS], cache)
    teacher = load_teacher(data / NAME, recipe.teacher_side)
    targets = Targets(teacher, images, cache, recipe, range(recipe.views))
    torch.manual_seed(recipe.seed)
    statistics = measure(targets, len(images))
    run = Run(recipe, Objective(recipe, statistics, teacher.head, int(images.labels.max()) + 1))
    checkpoint, log = work / "checkpoint.pt", work / "log.jsonl"
    if checkpoint.exists():
        run.load(checkpoint)
    log.touch()
    kept = [line for line in log.read_text().splitlines() if json.loads(line)["step"] <= run.step]
    log.write_text("".join(line + "\n" for line in kept))
    batches = Batches(images, targets, recipe)

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    saved, earlier, before = time.monotonic(), run.seconds, run.teacher_seconds
    began = time.process_time() - targets.seconds
    sums: Counter[str] = Counter()
    with Progress(*columns) as progress, log.open("a") as lines:
        task = progress.add_task("nano", total=recipe.steps, completed=run.step)
        while run.step < recipe.steps:
            factor = rate(run.step, recipe)
            for optimiser, peak in zip(run.optimisers, (recipe.matrix_lr, recipe.lr), strict=True):
                for group in optimiser.param_groups:
                    group["lr"] = peak * factor
            batch = batches.draw(run.step, difficulty_at(run.step, recipe), drop_at(run.step, recipe))
            losses = run.learn(batch)
            run.update_average()
            run.teacher_seconds = before + targets.seconds
            run.seconds = earlier + time.process_time() - targets.seconds - began
            sums.update({"steps": 1, **losses})
            if run.step % LOG_EVERY == 0:
                record = {"step": run.step, "seconds": run.seconds, "teacher_seconds": run.teacher_seconds}
                record |= {"rate": factor} | {name: sums[name] / sums["steps"] for name in losses}
                sums.clear()
                lines.write(json.dumps({name: round(value, 4) for name, value in record.items()}) + "\n")
                lines.flush()
                if time.monotonic() - saved > SAVE_EVERY or run.step == recipe.steps:
                    saved = time.monotonic()
                    targets.save()
                    run.save(checkpoint)
                    export(run.average.state_dict(), recipe, work / "model")
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
        "--work", type=Path, default=Path("runs/pretrain"), help="folder of targets, checkpoint, log and model"
    )
    parser.add_argument(
        "--look", type=int, metavar="VIEW", help="only let the teacher look at one view of all images: for another core"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default: %(default)s)")
    add_options(parser)
    return parser.parse_args()


def main() -> None:
    """Train, from the last checkpoint if there is one."""
    options = arguments()
    torch.set_num_threads(options.threads)
    if options.look is not None:
        look(from_options(options), options.data, options.work, options.look)
    else:
        train(from_options(options), options.data, options.work, options.work)


if __name__ == "__main__":
    main()
