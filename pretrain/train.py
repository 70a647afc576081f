"""Train the embedded backbone `nano` from scratch by distilling a ViT-Ti/16 on Tiny-ImageNet.

    python pretrain/train.py --data ../shared/data --out src/foro/backbones/embedded/nano_weights

An interrupted run continues from its last checkpoint when the same command is given again. With a smaller
`--steps` the same checkpoint is brought to an earlier end: the learning rate depends on how much is left.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from collections import Counter
from pathlib import Path

import torch
from batches import EASY, HARD, Batch, Batches, Difficulty
from images import load_images
from muon import Muon
from objective import Objective, measure, total
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from student import build_student, export, student_forward
from teacher import NAME, load_targets, load_teacher
from timm.models.vision_transformer import VisionTransformer
from torch import nn

TAR = "tiny-imagenet-train-64px.tar"
PLATEAU_END, DROP_END = 0.45, 0.9
"""Parts of the schedule at which the learning rate starts to fall and no patch is left out any more."""


class Run:
    """One training run: the student, its average, the training heads, the optimisers and the step reached."""

    def __init__(self, student: VisionTransformer, objective: Objective) -> None:
        self.student, self.objective = student, objective
        self.average = copy.deepcopy(student).requires_grad_(False)
        self.step, self.seconds = 0, 0.0
        named = list(student.named_parameters())
        matrices = [(n, p) for n, p in named if n.startswith("blocks.") and p.ndim == 2]
        rest = [p for n, p in named if not (n.startswith("blocks.") and p.ndim == 2)]
        decayed = [p for p in objective.parameters() if p.ndim == 2]
        rest += [p for p in objective.parameters() if p.ndim != 2]
        self.optimisers: list[torch.optim.Optimizer] = [
            Muon(matrices, weight_decay=0.05),
            torch.optim.AdamW(
                [{"params": rest, "weight_decay": 0.0}, {"params": decayed, "weight_decay": 0.05}],
                betas=(0.9, 0.98),
            ),
        ]

    def save(self, path: Path) -> None:
        """Write everything that is needed to continue, atomically."""
        partial = path.with_name(path.name + ".partial")
        state = {
            "step": self.step,
            "seconds": self.seconds,
            "student": self.student.state_dict(),
            "average": self.average.state_dict(),
            "objective": self.objective.state_dict(),
            "optimisers": [o.state_dict() for o in self.optimisers],
        }
        torch.save(state, partial)
        os.replace(partial, path)

    def load(self, path: Path) -> None:
        """Continue from a file written by `save`."""
        state = torch.load(path, weights_only=True)
        self.step, self.seconds = state["step"], state["seconds"]
        self.student.load_state_dict(state["student"])
        self.average.load_state_dict(state["average"])
        self.objective.load_state_dict(state["objective"])
        for optimiser, kept in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)

    def learn(self, batch: Batch) -> dict[str, float]:
        """Take one step on `batch` and return the loss with its unweighted parts."""
        cls, tokens = student_forward(self.student, batch.x, batch.keep)
        parts = self.objective(cls, tokens, batch.cls, batch.tokens, batch.labels)
        loss = total(parts)
        loss.backward()
        nn.utils.clip_grad_norm_([*self.student.parameters(), *self.objective.parameters()], 5.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad()
        self.step += 1
        return {"loss": loss.item(), **{name: part.item() for name, part in parts.items()}}

    def update_average(self, decay: float) -> None:
        """Move the average towards the student; early on it follows faster, so that it forgets the start."""
        decay = min(decay, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for kept, new in zip(self.average.parameters(), self.student.parameters(), strict=True):
                kept.lerp_(new, 1 - decay)


def rate(step: int, steps: int, warmup: int) -> float:
    """Return the part of the peak learning rate at `step`: a warm-up, a plateau, a line to zero."""
    return min(1.0, (step + 1) / warmup, (steps - step) / ((1 - PLATEAU_END) * steps))


def difficulty_at(step: int, steps: int) -> Difficulty:
    """Return the difficulty at `step`: hard on the plateau of the learning rate, easy on its way down."""
    return HARD if step < PLATEAU_END * steps else EASY


def drop_at(step: int, steps: int, drop: float) -> float:
    """Return the part of the patches left out at `step`; none towards the end."""
    return drop if step < DROP_END * steps else 0.0


def train(run: Run, batches: Batches, args: argparse.Namespace, log: Path, checkpoint: Path) -> None:
    """Train `run` up to step `args.steps`, exporting and saving it every `args.every` seconds."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    saved = last = time.monotonic()
    end = min(args.steps, args.until_step or args.steps)
    sums: Counter[str] = Counter()
    with Progress(*columns) as progress, log.open("a") as lines:
        task = progress.add_task("nano", total=args.steps, completed=run.step)
        while run.step < end:
            factor = rate(run.step, args.steps, args.warmup)
            for optimiser, peak in zip(run.optimisers, (args.matrix_lr, args.lr), strict=True):
                for group in optimiser.param_groups:
                    group["lr"] = peak * factor
            difficulty = difficulty_at(run.step, args.steps)
            batch = batches.draw(run.step, difficulty, drop_at(run.step, args.steps, args.drop))
            losses = run.learn(batch)
            run.update_average(args.average)
            now = time.monotonic()
            run.seconds, last = run.seconds + now - last, now
            sums.update({"steps": 1, **losses})
            if run.step % args.log_every == 0:
                means = {name: round(sums[name] / sums["steps"], 4) for name in losses}
                sums.clear()
                record = {"step": run.step, "seconds": round(run.seconds, 1), "rate": round(factor, 4)}
                lines.write(json.dumps({**record, **means}) + "\n")
                lines.flush()
            if now - saved > args.every or run.step == end:
                saved = now
                run.save(checkpoint)
                export(run.average.state_dict(), args.out)
            progress.update(task, completed=run.step, description=f"nano, loss {losses['loss']:.3f}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Defaults ship `nano`.",
    )
    add = parser.add_argument
    add("--data", type=Path, default=Path("../shared/data"), help=f"folder with {TAR} and {NAME}/")
    add(
        "--out",
        type=Path,
        default=Path("src/foro/backbones/embedded/nano_weights"),
        help="folder of the exported model",
    )
    add(
        "--work",
        type=Path,
        default=Path("runs/pretrain"),
        help="folder of cached targets, checkpoint and log",
    )
    add("--seed", type=int, default=0, help="seed of everything random (default: %(default)s)")
    add("--steps", type=int, default=3000, help="steps of the whole schedule (default: %(default)s)")
    add("--until-step", type=int, help="stop at this step, leaving the schedule as it is")
    add("--batch", type=int, default=192, help="images a step (default: %(default)s)")
    add("--matrix-lr", type=float, default=3e-3, help="peak learning rate of Muon (default: %(default)s)")
    add("--lr", type=float, default=1.5e-3, help="peak learning rate of AdamW (default: %(default)s)")
    add("--warmup", type=int, default=150, help="steps of warm-up (default: %(default)s)")
    add("--drop", type=float, default=0.5, help="part of the patches left out early on (default: %(default)s)")
    add("--average", type=float, default=0.995, help="decay of the weight average (default: %(default)s)")
    add("--teacher-side", type=int, default=160, help="pixels a side for the teacher (default: %(default)s)")
    add("--every", type=float, default=600, help="seconds between exports (default: %(default)s)")
    add("--log-every", type=int, default=10, help="steps between lines of the log (default: %(default)s)")
    add("--threads", type=int, default=2, help="threads of torch (default: %(default)s)")
    return parser.parse_args()


def main() -> None:
    """Compute the missing targets of the teacher, then train, from the last checkpoint if there is one."""
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.work.mkdir(parents=True, exist_ok=True)
    images = load_images(args.data / TAR, args.work)
    teacher = load_teacher(args.data / NAME, args.teacher_side)
    targets = load_targets(teacher, images, args.work, args.teacher_side, args.seed)
    torch.manual_seed(args.seed)
    objective = Objective(measure(targets), teacher.head, int(images.labels.max()) + 1)
    run = Run(build_student(), objective)
    checkpoint = args.work / "checkpoint.pt"
    if checkpoint.exists():
        run.load(checkpoint)
    batches = Batches(images, targets, args.batch, args.seed)
    train(run, batches, args, args.work / "log.jsonl", checkpoint)


if __name__ == "__main__":
    main()
