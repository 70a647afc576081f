"""Photographs of 12 megapixels: what decoding at a reduced scale changes, and how fast they are learned and predicted.

    python benchmarks/photos.py [--photos 64] [--compared 200]

Real photographs (CUB-200-2011, shorter side 256 pixels) are enlarged and stored as JPEGs. Against: Pillow's ``draft``,
resize and bare passes through ONNX Runtime, in turns with ours, by the processor time of the whole process. Aim: 0.8.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import images_of
from PIL import Image
from rich.console import Console
from rich.table import Table

from foro import Learner
from foro.backbones import load_backbone
from foro.images.load import load_crop, load_image

SIZE = 4000, 3000
CLASSES = 50
RUN = 8
"""Images of a bare run of ONNX Runtime."""


def enlarged(image: Path, path: Path) -> Path:
    """A photograph at 12 megapixels, as a camera would store it."""
    with Image.open(image) as opened:
        upright = opened.convert("RGB")
    if upright.height > upright.width:
        upright = upright.transpose(Image.Transpose.ROTATE_90)
    upright.resize(SIZE, Image.Resampling.BICUBIC).save(path, quality=90)
    return path


def bare(backbone: object, paths: list[Path]) -> None:
    """Draft, resize, crop, normalise and two sessions of ONNX Runtime, with nothing around them."""
    preprocessing = backbone.preprocessing
    for start in range(0, len(paths), RUN):
        pixels = []
        for path in paths[start : start + RUN]:
            with Image.open(path) as image:
                width, height = preprocessing.resized_size(*image.size)
                image.draft("RGB", (2 * width, 2 * height))
                pixels.append(preprocessing(image))
        backbone.forward(backbone.embed(np.stack(pixels)))


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Of the clock, and of processors."""
    start, worked = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - worked


def largest_change(learner: Learner, photographs: list[Path], folder: Path) -> tuple[float, float, int]:
    """Largest and mean change of a probability, and how many answers change, where less is decoded."""
    preprocessing = learner.backbone.preprocessing
    changes, answers = [], 0
    for photograph in photographs:
        path = enlarged(photograph, folder / "compared.jpg")
        full = preprocessing.crop(load_image(path)).view(type(load_crop(path, preprocessing)))
        before, after = learner.probabilities([full, load_crop(path, preprocessing)])
        changes.append(np.abs(after - before).max())
        answers += int(before.argmax() != after.argmax())
    return float(np.max(changes)), float(np.mean(changes)), answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default="nano")
    parser.add_argument("--photos", type=int, default=64)
    parser.add_argument("--compared", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    data = images_of("cub200", 8, 4)
    backbone = load_backbone(options.backbone)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        known = Learner(backbone)
        train = data.train.take(range(8 * CLASSES))
        known.learn(train.images, train.labels)
        photographs = [Path(each) for each in data.test.images]
        if options.compared:
            largest, mean, answers = largest_change(known, photographs[: options.compared], folder)
            print(
                f"{options.compared} photographs at {SIZE[0]} × {SIZE[1]}, {CLASSES} classes: a probability changes by "
                f"at most {largest:.4f} ({mean:.5f} on average), {answers} answers change"
            )
        paths = [enlarged(each, folder / f"{number}.jpg") for number, each in enumerate(photographs[: options.photos])]
        labels = [str(number % 8) for number in range(len(paths))]
        full = min(seconds(lambda: load_image(paths[0]))[1] for _ in range(5))
        drafted = min(seconds(lambda: load_crop(paths[0], backbone.preprocessing))[1] for _ in range(5))
        print(
            f"one of them: {1e3 * full:.0f} ms of a processor decoded in full, {1e3 * drafted:.0f} ms as far as needed"
        )
        ways = {
            "bare": lambda: bare(backbone, paths),
            "learn": lambda: Learner(backbone).learn(paths, labels),
            "predict": lambda: known.probabilities(paths),
        }
        times = {name: [] for name in ways}
        for _ in range(options.repeats):
            for name, work in ways.items():
                times[name].append(seconds(work))
    table = Table(title=f"{len(paths)} JPEGs of 12 megapixels, {backbone.name}, median of {options.repeats}")
    for heading in ("", "images a second", "of a processor", "ratio to bare"):
        table.add_column(heading, justify="right" if heading else "left")
    clock, worked = (
        {name: len(paths) / statistics.median(each[kind] for each in times[name]) for name in ways} for kind in (0, 1)
    )
    for name in ways:
        table.add_row(name, f"{clock[name]:.1f}", f"{worked[name]:.1f}", f"{worked[name] / worked['bare']:.2f}")
    Console(width=120).print(table, f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
