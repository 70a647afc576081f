"""Does adaptation pay, at which price, and does the check know? Streams of data sets, backbones, sizes and seeds.

python benchmarks/adaptation.py
python benchmarks/adaptation.py --streams "vit-tiny-112 cifar100 0" --kinds gains,prompt --prices 10,30
python benchmarks/adaptation.py --lesson

A stream's first task is searched on, two thirds of its classes; what is found is frozen, and the accuracy over all
classes decides whether it was right to keep it. Done streams are kept in runs/adaptation.jsonl. ``--lesson``: what an
adaptation adds to the first ``foro learn`` of a model.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from common import BACKBONES, images_of, remembered
from rich.console import Console
from rich.table import Table

from foro import KnowledgeEncoder, LearnerConfig, load_backbone
from foro.adaptation.adaptation import Adaptation, TaskAdaptation, _plan
from foro.adaptation.search import Verdict, hold_classes_out, positions_of, search
from foro.features.cache import FeatureCache
from foro.features.candidate import NEUTRAL, Candidate
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.images.samples import Samples, stratified
from foro.research.methods.cached_learner import CachedExtractor
from foro.research.protocol.streams import class_incremental

STREAMS = ",".join(
    [f"vit-tiny-112 cifar100 {seed}" for seed in range(4)]
    + [f"nano cifar100 {seed}" for seed in range(3)]
    + [f"vit-tiny-224 cifar100 {seed}" for seed in range(2)]
    + [f"vit-tiny-112 cub200 {seed}" for seed in range(2)]
    + [f"nano cub200 {seed}" for seed in range(2)]
    + ["vit-tiny-224 cub200 0"]
)
TASKS = 10
CHECKS = {
    "unseen images of searched classes (FoRo 0.1: any gain)": ("searched classes", "aside", "entropy"),
    "unseen classes among all": ("all", "held", "entropy"),
    "all unseen images": ("all", "unseen", "entropy"),
    "unseen classes among all, few-shot": ("all", "held", "few-shot"),
    "all unseen images, few-shot": ("all", "unseen", "few-shot"),
}
"""Which classes the heads know, which images are judged, and by heads that were taught all but one or two a class."""


class Trial:
    """One stream: its first task, the classes that come later, and a head for features of any candidate."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        kind, data, seed = name.split()
        place, size = BACKBONES[kind]
        dataset = images_of(data, options.train_per_class, options.test_per_class)
        stream = class_incremental(dataset, TASKS, int(seed))
        self.first = stream.train(stream.tasks[0])
        later = stream.tasks[: options.classes * TASKS // len(dataset.train.positions)]
        self.train = [stream.train(task) for task in later]
        self.test = [stream.test(task) for task in later]
        self.backbone = load_backbone(place, image_size=size, threads=options.threads)
        self.readout = Readout.of("groups", self.backbone)
        self.head = KnowledgeEncoder(
            self.readout.features, options.size, seed=int(seed), blocks=self.readout.blocks(options.size)
        )
        self.seed = int(seed)

    def right(self, candidate: Candidate) -> np.ndarray:
        """Whether each test image (n,) of all classes is classified correctly with a candidate."""
        head, extractor = self.head.blank(), Extractor(self.backbone)
        if candidate is NEUTRAL:
            extractor = CachedExtractor(self.backbone, FeatureCache(Path("runs/features")))

        def features(part: Samples) -> np.ndarray:
            return np.concatenate(list(extractor.features(part.images, self.readout, candidate)))

        for part in self.train:
            head.absorb(features(part), part.labels)
        return np.concatenate([np.array(head.predict(features(part))) == np.array(part.labels) for part in self.test])


def adapt(trial: Trial, kind: str, price: float) -> dict[str, Any]:
    """Searches one stream's first task, and what each check says of what was found."""
    config = LearnerConfig.from_preset("adapt", adaptation=kind, search_price=price)
    extractor = Extractor(trial.backbone)
    task = TaskAdaptation(extractor, trial.readout, trial.head.projection, config, Adaptation(), trial.seed)
    labels, generator = trial.first.labels, np.random.default_rng([trial.seed, 7])
    planned = _plan(config, len(labels), len(set(labels)))
    if planned is None:
        return {"kind": kind, "price": price, "planned": None}
    start = time.perf_counter()
    held_out = hold_classes_out(labels, generator)
    sample = extractor.sample(trial.first.images)
    unseen = positions_of(labels, held_out)
    others = np.setdiff1d(np.arange(len(labels)), unseen)
    chosen = others[stratified([labels[each] for each in others], planned.images, generator)]
    aside = np.setdiff1d(others, chosen)
    neutral = sample.layers(NEUTRAL)
    history = task._activations(neutral)
    judge = sample.judge(task._fitness(neutral[chosen], [labels[each] for each in chosen], history), chosen)
    held = {"aside": aside, "held": unseen, "unseen": np.union1d(aside, unseen)}
    known = {"searched classes": others, "unseen classes": unseen, "all": np.arange(len(labels))}

    def judged(rows: np.ndarray, layers: np.ndarray) -> dict[str, np.ndarray]:
        """Cross-entropies of the rows (n,), by heads that know their classes."""
        fitness = task._fitness(layers[rows], [labels[each] for each in rows], history)
        return {"entropy": fitness.cross_entropy(layers[rows]), "few-shot": fitness.few_shot(layers[rows])}

    whole = task._fitness(neutral, labels, history)
    before = whole.few_shot(neutral)

    def check(candidate: Candidate) -> Verdict:
        after = whole.few_shot(sample.layers(candidate))
        return Verdict.of(before[held["unseen"]], after[held["unseen"]])

    found = search(judge, task.space, task._evolution(), planned.generations, config.patience, check=check)
    seconds = time.perf_counter() - start
    candidate = task.space.candidate(found.distribution.mean)
    adapted = sample.layers(candidate)
    found_by = {name: (judged(rows, neutral), judged(rows, adapted)) for name, rows in known.items()}
    checks = {}
    for title, (heads, part, measure) in CHECKS.items():
        places = np.searchsorted(known[heads], held[part])
        verdict = Verdict.of(*(each[measure][places] for each in found_by[heads]))
        checks[title] = {"gain": verdict.gain, "error": verdict.error, "images": len(places)}
    return {
        "kind": kind,
        "price": price,
        "planned": [planned.images, found.generations],
        "passes": extractor.forward_passes,
        "seconds": seconds,
        "checks": checks,
        "right": trial.right(candidate).tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default=STREAMS, help="backbone, data set and seed, separated by commas")
    parser.add_argument("--kinds", default="gains", help="gains, prompt or both, separated by commas")
    parser.add_argument("--prices", default="30", help="multiples of the first task's own passes")
    parser.add_argument("--classes", type=int, default=100, help="of all tasks together")
    parser.add_argument("--train-per-class", type=int, default=30, help="CUB-200 has 8 here")
    parser.add_argument("--test-per-class", type=int, default=20, help="CUB-200 has 4 here")
    parser.add_argument("--size", type=int, default=2048, help="M")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--lesson", action="store_true", help="time first lessons by foro learn, and nothing else")
    options = parser.parse_args()
    if options.lesson:
        lessons()
        return
    rows = []
    shape = [TASKS, options.classes, options.train_per_class, options.test_per_class, options.size]
    for name in options.streams.split(","):
        trial = cache(partial(Trial, name, options))
        right = remembered("adaptation.jsonl", [name, shape], lambda trial=trial: trial().right(NEUTRAL).tolist())
        for kind in options.kinds.split(","):
            for price in map(float, options.prices.split(",")):
                key = [name, shape, kind, price]
                found = remembered(
                    "adaptation.jsonl", key, lambda trial=trial, kind=kind, price=price: adapt(trial(), kind, price)
                )
                rows.append({"key": key, "neutral": right, **found})
    show(rows)


def lessons() -> None:
    """Seconds of processors of the first ``foro learn`` of birds with nano, as asked for in several ways."""
    ways = {"--policy none": ["--policy", "none"], "by default": [], "--preset adapt": ["--preset", "adapt"]}
    table = Table(title="the first foro learn of a model, nano: seconds of processors, median of three")
    for heading in ("lesson", "settings", "seconds", "ratio", "what it says of an adaptation"):
        table.add_column(heading, justify="right" if heading in ("seconds", "ratio") else "left")
    for classes in (10, 20):
        birds = images_of("cub200", 8, 4).train
        some = birds.take([each for label in list(birds.positions)[:classes] for each in birds.positions[label]])
        rows = "".join(f"{path},{label}\n" for path, label in zip(some.images, some.labels, strict=True))
        bare = 0.0
        for title, flags in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                listed = Path(folder) / "birds.csv"
                listed.write_text(f"path,label\n{rows}")
                found = [learned(Path(folder) / f"{number}.foro", listed, flags) for number in range(3)]
            took, said = float(np.median([each for each, _ in found])), found[0][1]
            bare = bare or took
            table.add_row(f"{classes} × 8 images", title, f"{took:.2f}", f"{took / bare:.2f}", said)
    Console(width=150).print(table, f"load of the machine {os.getloadavg()[0]:.1f}")


def learned(model: Path, data: Path, flags: list[str]) -> tuple[float, str]:
    """Seconds of processors of one command, and what it says of an adaptation."""
    before = os.times()
    command = [sys.executable, "-c", "from foro.cli import main; main()", "learn", str(model), str(data), *flags]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    return took, next((line for line in ran.stderr.splitlines() if "adapted" in line), "")


def show(rows: list[dict[str, Any]]) -> None:
    """What each stream gained, and how often each check decided as the accuracy over all classes does."""
    console, rows = Console(width=150), [row for row in rows if row["planned"] is not None]
    if not rows:
        console.print("no stream has enough images in its first task to search on")
        return
    table = Table(
        title="accuracy over all classes in %, adapted on the first task and frozen; checks as gain / its s.e."
    )
    numbers = [f"({number})" for number in range(1, len(CHECKS) + 1)]
    for heading in ("stream", "evolved", "price", "searched", "neutral", "adapted", "gain ± s.e.", *numbers):
        table.add_column(heading, justify="left" if heading in ("stream", "evolved") else "right")
    gains = []
    for row in rows:
        before, after = np.array(row["neutral"], float), np.array(row["right"], float)
        gain, error = 100 * (after - before).mean(), 100 * (after - before).std(ddof=1) / np.sqrt(len(after))
        gains.append(gain)
        accuracies = f"{100 * before.mean():.1f}", f"{100 * after.mean():.1f}", f"{gain:+.1f} ± {error:.1f}"
        planned = " × ".join(map(str, row["planned"]))
        said = [f"{found['gain'] / found['error']:+.1f}" for found in row["checks"].values()]
        table.add_row(row["key"][0], row["kind"], f"{row['price']:g}", planned, *accuracies, *said)
    console.print(table)
    for kind, price in dict.fromkeys((row["kind"], row["price"]) for row in rows):
        some = [gain for gain, row in zip(gains, rows, strict=True) if (row["kind"], row["price"]) == (kind, price)]
        error = np.std(some, ddof=1) / np.sqrt(len(some)) if len(some) > 1 else np.nan
        console.print(f"{kind} at {price:g} ×, all kept: {np.mean(some):+.1f} ± {error:.1f} over {len(some)} streams")
    table = Table(title="checks against the accuracy over all classes; what is refused gains nothing")
    for heading in (
        "check",
        "s.e. asked",
        "kept, right",
        "kept, wrong",
        "refused, right",
        "refused, wrong",
        "mean gain",
    ):
        table.add_column(heading, justify="left" if heading == "check" else "right")
    for number, check in enumerate(CHECKS):
        for bar in (1, 2, 3) if number else (0,):
            kept = np.array([row["checks"][check]["gain"] > bar * row["checks"][check]["error"] for row in rows])
            better = np.array(gains) > 0
            counts = kept & better, kept & ~better, ~kept & ~better, ~kept & better
            brought = np.where(kept, gains, 0).mean()
            table.add_row(
                f"{numbers[number]} {check}", str(bar), *(str(each.sum()) for each in counts), f"{brought:+.2f}"
            )
    console.print(table)


if __name__ == "__main__":
    main()
