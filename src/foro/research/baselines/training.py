"""The training loop of every baseline: optimiser, schedule, clipping, mixed precision, seeds, and what it took."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from foro.images.load import Images, load_image
from foro.images.preprocessing import Preprocessing
from foro.research.baselines.baseline import BaselineSettings
from foro.util.parallel import ordered_map
from foro.util.progress import progress_bar
from foro.util.settings import setting

Optimiser = Literal["sgd", "adam", "adamw"]
Schedule = Literal["cosine", "constant"]
Loss = Callable[[Any, Any], Any]
"""From pixels (b, 3, S, S) and the positions of their labels (b,) to a scalar, both tensors on the device."""

LONGEST = 4 / 3
"""Most that a random crop is wider than high, or higher than wide."""


@dataclass(frozen=True)
class TrainingSettings(BaselineSettings):
    """How a baseline trains on one task."""

    epochs: int = setting(20, "passes over the images of a task", least=1)
    batch_size: int = setting(128, "images of a step", least=1)
    optimiser: Optimiser = setting("sgd", "sgd (momentum 0.9), adam or adamw")
    learning_rate: float = setting(1e-3, "learning rate of the first step", least=0)
    schedule: Schedule = setting("cosine", "of the learning rate: cosine (down to 0) or constant")
    weight_decay: float = setting(5e-4, "weight decay", least=0)
    clip_norm: float | None = setting(1.0, "most that the norm of a gradient may be; None: any", least=0)
    crop_area: float = setting(
        0.05, "least share of an image that is cut out for training; 1: all of it", least=0.01, most=1
    )
    flip: bool = setting(True, "mirror half of the training images")


@dataclass(frozen=True)
class TrainCost:
    """What a training took: passes through a backbone and back, seconds, and the mean loss of each epoch."""

    forward_passes: int
    backward_passes: int
    seconds: float
    losses: tuple[float, ...]
    device_megabytes: float | None = None  # peak on a GPU; the process's own memory is measured by the experiment

    def __add__(self, other: TrainCost) -> TrainCost:
        peaks = [each for each in (self.device_megabytes, other.device_megabytes) if each is not None]
        return TrainCost(
            self.forward_passes + other.forward_passes,
            self.backward_passes + other.backward_passes,
            self.seconds + other.seconds,
            self.losses + other.losses,
            max(peaks, default=None),
        )

    @property
    def note(self) -> str | None:
        """The memory of a GPU, which nothing else records."""
        return None if self.device_megabytes is None else f"peak GPU memory {self.device_megabytes:.0f} MB"


def train(
    parameters: Iterable[Any],
    loss: Loss,
    images: Images,
    targets: Sequence[int] | NDArray[np.intp],
    settings: TrainingSettings,
    seed: Sequence[int],
    preprocessing: Preprocessing,
    *,
    forwards: int = 1,
    backwards: int = 1,
    doing: str = "training",
) -> TrainCost:
    """Lowers a loss over images by gradients of the parameters, which must be on the device of ``find_device``.

    ``seed`` decides the order of the images and their augmentation, and nothing else does: not the number of threads,
    nor what torch's own generator was used for. ``forwards`` and ``backwards`` are how often the loss sends
    an image through a backbone, and its gradient back.
    """
    import torch

    trained = list(parameters)
    device = trained[0].device
    step = _Step(torch, trained, settings, device, settings.epochs * math.ceil(len(images) / settings.batch_size))
    _forget_peak(torch, device)
    start = time.perf_counter()
    losses = []
    with progress_bar(doing, settings.epochs * len(images)) as advance:
        for epoch in range(settings.epochs):
            total = 0.0
            for pixels, wanted in _batches(images, targets, settings, [*seed, epoch], preprocessing):
                batch = torch.from_numpy(pixels).to(device), torch.from_numpy(wanted).to(device)
                total += step(loss, *batch) * len(pixels)
                advance(len(pixels))
            losses.append(total / len(images))
    passes = settings.epochs * len(images)
    seconds = time.perf_counter() - start
    return TrainCost(forwards * passes, backwards * passes, seconds, tuple(losses), _peak(torch, device))


def augment(
    image: Image.Image, preprocessing: Preprocessing, least_area: float, flip: bool, random: np.random.Generator
) -> NDArray[np.float32]:
    """Pixels (3, S, S) of a random crop with at least this share of the area; ``flip`` mirrors half of the images."""
    if least_area < 1:
        area = random.uniform(least_area, 1) * image.width * image.height
        ratio = math.exp(random.uniform(-math.log(LONGEST), math.log(LONGEST)))
        width = min(math.sqrt(area * ratio), image.width)
        height = min(math.sqrt(area / ratio), image.height)
        left, top = random.uniform(0, image.width - width), random.uniform(0, image.height - height)
        size = preprocessing.image_size
        image = image.resize((size, size), Image.Resampling.BICUBIC, (left, top, left + width, top + height))
        preprocessing = replace(preprocessing, crop_pct=1.0)  # it is cropped already
    if flip and random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return preprocessing(image)


class _Step:
    """One step of the optimiser, in mixed precision where a GPU has it."""

    def __init__(self, torch: Any, parameters: list[Any], settings: TrainingSettings, device: Any, steps: int) -> None:
        self.torch, self.parameters, self.clip = torch, parameters, settings.clip_norm
        self.optimiser = _optimiser(torch, parameters, settings)
        cosine = settings.schedule == "cosine"
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: (1 + math.cos(math.pi * step / steps)) / 2 if cosine else 1.0
        )
        self.mixed = device.type == "cuda"
        half = torch.bfloat16 if self.mixed and torch.cuda.is_bf16_supported() else torch.float16
        self.autocast = torch.autocast(device.type, half) if self.mixed else nullcontext()
        # Only float16 is short of exponents, so only it needs its gradients scaled.
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.mixed and half is torch.float16)

    def __call__(self, loss: Loss, pixels: Any, targets: Any) -> float:
        self.optimiser.zero_grad(set_to_none=True)
        with self.autocast:
            value = loss(pixels, targets)
        self.scaler.scale(value).backward()
        if self.clip is not None:
            self.scaler.unscale_(self.optimiser)
            self.torch.nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.schedule.step()
        return float(value.detach())


def _optimiser(torch: Any, parameters: list[Any], settings: TrainingSettings) -> Any:
    shared = {"lr": settings.learning_rate, "weight_decay": settings.weight_decay}
    if settings.optimiser == "sgd":
        return torch.optim.SGD(parameters, momentum=0.9, **shared)
    return (torch.optim.Adam if settings.optimiser == "adam" else torch.optim.AdamW)(parameters, **shared)


def _batches(
    images: Images,
    targets: Sequence[int] | NDArray[np.intp],
    settings: TrainingSettings,
    seed: list[int],
    preprocessing: Preprocessing,
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Augmented pixels and targets in a random order; every image has a random generator of its own."""
    order = np.random.default_rng(seed).permutation(len(images))
    wanted = np.asarray(targets, np.int64)

    def prepared(position: int) -> NDArray[np.float32]:
        random = np.random.default_rng([*seed, position])
        return augment(load_image(images[position]), preprocessing, settings.crop_area, settings.flip, random)

    with closing(ordered_map(prepared, [int(each) for each in order], ahead=settings.batch_size)) as pixels:
        for start in range(0, len(order), settings.batch_size):
            part = list(islice(pixels, settings.batch_size))
            yield np.stack(part), wanted[order[start : start + len(part)]]


def _forget_peak(torch: Any, device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def _peak(torch: Any, device: Any) -> float | None:
    return torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else None
