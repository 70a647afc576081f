"""Where does the time of a lesson go? Against decoding and bare passes of the same images, and against one Cholesky.

    python benchmarks/learning.py [--backbones nano …] [--images 512] [--rounds 5]

A lesson is everything that ``foro learn`` does after it has started: its cost beforehand, reading, features, journal,
classifier, held-out measure, saving. Aim: at most 1.15 times decoding and bare passes. A lesson of one image into a
model of 10,000 images: at most 0.3 of one Cholesky factorisation. Seconds are of processors and medians of rounds, in
which both take turns, so that other programs count little.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import VIT_TINY, images_of
from PIL import Image
from rich.console import Console
from rich.table import Table

from foro import DurableLearner, Learner
from foro.backbones import Backbone, load_backbone
from foro.heads.ridge import cholesky, packed
from foro.util.system import peak_megabytes
from foro.verbs.teach import teach

RUN = 8
"""Images of a bare run."""


def worked(work: Callable[[], object]) -> float:
    """Seconds of processors."""
    start = time.process_time()
    work()
    return time.process_time() - start


def bare(backbone: Backbone, paths: list[Path]) -> tuple[float, float]:
    """Seconds to decode and prepare images one by one, and to run them through ONNX Runtime."""
    preprocessing, pixels = backbone.preprocessing, []
    reading = worked(lambda: pixels.extend(preprocessing(Image.open(path)) for path in paths))

    def run() -> None:
        for start in range(0, len(pixels), RUN):
            backbone.forward(backbone.embed(np.stack(pixels[start : start + RUN])))

    return reading, worked(run)


def whole_lesson(name: str, images: int, rounds: int, folder: Path) -> None:
    data = images_of("cub200", 8, 4).train.take(range(images))
    listed = folder / "lesson.csv"
    listed.write_text("path,label\n" + "".join(f"{p},{n}\n" for p, n in zip(data.images, data.labels, strict=True)))
    backbone = load_backbone(name)
    paths = [Path(each) for each in data.images]
    bare(backbone, paths[:RUN])

    def lesson() -> dict[str, float]:
        with DurableLearner.open(folder / "lesson.foro", create=lambda: Learner(backbone)) as model:
            parts = dict(teach(model, listed, announce=lambda _: None).parts)
            ended = time.perf_counter()
        (folder / "lesson.foro").unlink()
        return {**parts, "saving": time.perf_counter() - ended}

    lesson()
    peak = peak_megabytes()  # before all pixels are held for bare passes
    measured = []
    for _ in range(rounds):
        reading, passing = bare(backbone, paths)
        parts: dict[str, float] = {}
        ours = worked(lambda parts=parts: parts.update(lesson()))
        measured.append((ours / (reading + passing), ours, reading, passing, parts))
    ratio, ours, reading, passing, parts = sorted(measured, key=lambda each: each[0])[rounds // 2]
    clock = sum(parts.values())
    table = Table(title=f"{images} images, {backbone.name}: seconds of processors, shares of the clock")
    for heading in ("", "seconds", "ratio"):
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row("decoding, bare", f"{reading:.2f}", "")
    table.add_row("passes, bare", f"{passing:.2f}", "")
    table.add_row("a lesson", f"{ours:.2f}", f"{ratio:.2f} × both")
    for part, seconds in parts.items():
        table.add_row(f"  {part}", f"{ours * seconds / clock:.2f}", f"{seconds / clock:.0%} of the lesson")
    ratios = ", ".join(f"{each[0]:.2f}" for each in measured)
    Console(width=120).print(
        table, f"rounds: {ratios}; peak of a lesson {peak:.0f} MB, load of the machine {os.getloadavg()[0]:.1f}"
    )


def one_image(samples: int, size: int, folder: Path) -> None:
    """One more image, its estimate and its snapshot, in a process that has the model open, as the service does."""
    random = np.random.default_rng(0)
    learner = Learner("nano", projection_dim=size)
    centres = random.standard_normal((50, learner.head.features))
    numbers = random.integers(0, 50, samples)
    for start in range(0, samples, 1000):
        part = numbers[start : start + 1000]
        learner.head.absorb(centres[part] + 2 * random.standard_normal((len(part), centres.shape[1])), part.tolist())
    learner.snapshot()
    images = random.integers(0, 256, (6, 64, 64, 3), dtype=np.uint8)
    times = []
    for image in images:
        times.append(worked(lambda image=image: (learner.learn([image], [7]), learner.snapshot(), learner.estimate())))
    gram = packed.zeros(size)
    gram[packed.diagonal(size)] = 2.0
    out = cholesky.empty(size)
    factorising = worked(lambda: cholesky.factorise(gram, size, 1.0, out))
    one = float(np.median(times))
    print(
        f"one image into a model of {samples:,} at M = {size}: {one:.3f} s of processors, one Cholesky "
        f"{factorising:.2f} s, ratio {one / factorising:.2f}"
    )
    by_command(learner, factorising, folder)


def by_command(learner: Learner, factorising: float, folder: Path) -> None:
    """The same by ``foro learn``, which starts, reads the model and writes it again; beside a model of nothing.

    The first command has no factor from an earlier one, and the second has.
    """
    for number in range(2):
        image = folder / f"one {number}" / "7" / "1.png"
        image.parent.mkdir(parents=True)
        Image.fromarray(np.random.default_rng(number).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(image)
    learner.save(folder / "large.foro")
    foro, times = [sys.executable, "-c", "from foro.cli import main; main()"], []
    for model, number in (("new.foro", 0), ("large.foro", 0), ("large.foro", 1)):
        before = os.times()
        command = [*foro, "learn", str(folder / model), str(folder / f"one {number}")]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    new, first, large = times
    aim = 1.5 * new + 0.3 * factorising
    print(
        f"by foro learn: {large:.2f} s, {first:.2f} s where the factor is not there yet, and {new:.2f} s into a new "
        f"model; aim {aim:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbones", nargs="*", default=["nano", str(VIT_TINY)])
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=10_000, help="of the model that learns one image; 0: leave out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.backbones:
            whole_lesson(name, options.images, options.rounds, Path(temporary))
        if options.samples:
            one_image(options.samples, 8192, Path(temporary))


if __name__ == "__main__":
    main()
