"""Score an exported backbone by ridge classifiers on ReLU random projections of its frozen features.

    python pretrain/monitor.py --data ../shared/data --model runs/pretrain/model

Two readouts are scored: the last class token alone, and beside it the class tokens of the blocks before and the
mean patch token of the two blocks before the last. The strength of the ridge is chosen by generalised
cross-validation on the training images. Neither of the data sets is trained on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from layers import states
from numpy.typing import NDArray
from PIL import Image, ImageOps
from sklearn.datasets import load_digits
from student import load_exported
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

WIDTH = 4096
GAMMAS = 10.0 ** np.arange(-4, 4.25, 0.25)
EARLIER_WEIGHT, MEAN_WEIGHT = 0.4, 0.5
"""Weights of an earlier class token and of the mean patch tokens, where that of the last class token is 1."""

Labels = NDArray[np.int64]
Groups = list[NDArray[np.float32]]
Share = tuple[NDArray[np.float32], float, int]
"""Tokens (N, D), their weight and how many random features read them."""


def cifar100(folder: Path, name: str, a_class: int) -> tuple[Tensor, Labels]:
    """Read the first `a_class` images of each class of an official binary file, in [0, 1]."""
    records = np.fromfile(folder / f"{name}.bin", np.uint8).reshape(-1, 3074)
    fine = records[:, 1].astype(np.int64)
    rows = np.concatenate([np.flatnonzero(fine == c)[:a_class] for c in range(100)])
    return torch.from_numpy(records[rows, 2:]).reshape(-1, 3, 32, 32).float() / 255, fine[rows]


def digits() -> tuple[Tensor, Labels, NDArray[np.bool_]]:
    """Return scikit-learn's digits as RGB in [0, 1], their labels, and which are to test: every fifth."""
    data = load_digits()
    x = torch.from_numpy(data.images).float()[:, None].expand(-1, 3, -1, -1) / 16
    return x, data.target, np.arange(len(x)) % 5 == 0


def birds(folder: Path, side: int) -> tuple[Tensor, Labels, NDArray[np.bool_]]:
    """Return CUB-200's photographs, cut to squares of `side` pixels, their labels, and which are to test."""

    def column(name: str) -> list[str]:
        return [line.split()[1] for line in (folder / name).read_text().splitlines()]

    pictures = []
    for name in column("images.txt"):
        with Image.open(folder / "images" / name) as image:
            square = ImageOps.fit(image.convert("RGB"), (side, side), Image.Resampling.BICUBIC)
        pictures.append(np.asarray(square).transpose(2, 0, 1))
    labels = np.array(column("image_class_labels.txt"), dtype=np.int64) - 1
    test = np.array([word == "0" for word in column("train_test_split.txt")])
    return torch.from_numpy(np.stack(pictures)).float() / 255, labels, test


def features(model: VisionTransformer, x: Tensor) -> Groups:
    """Return the readout of pictures `x` (N, 3, H, W): last, earlier class tokens and the mean token, each (N, D)."""
    side = model.patch_embed.img_size[0]
    found = []
    with torch.inference_mode():
        for part in x.split(128):
            resized = F.interpolate(part, size=(side, side), mode="bicubic", align_corners=False).clamp(0, 1)
            *blocks, after = states(model, resized * 2 - 1)[1:]
            last = F.normalize(model.norm(after[:, 0]), dim=1) * after.shape[2] ** 0.5
            earlier = [F.layer_norm(each[:, 0], last.shape[1:]) for each in blocks[-5:]]
            each_mean = [F.layer_norm(each[:, 1:].mean(1), last.shape[1:]) for each in blocks[-2:]]
            means = F.layer_norm(torch.stack(each_mean).sum(0), last.shape[1:])
            found.append(torch.stack((last, *earlier, means), 1))
    return list(torch.cat(found).transpose(0, 1).numpy())


def shares(groups: Groups, full: bool) -> list[Share]:
    """Give all 4096 features to the last class token, or with `full` shares of them to the whole readout."""
    last, *earlier, means = groups
    if not full:
        return [(last, 1.0, WIDTH)]
    each = WIDTH // 4 // len(earlier)
    return [
        (last, 1.0, WIDTH // 2),
        *((x, EARLIER_WEIGHT, each) for x in earlier),
        (means, MEAN_WEIGHT, WIDTH // 4),
    ]


def project(parts: list[Share]) -> NDArray[np.float32]:
    """Return the ReLU random projections of all parts side by side, each part by a projection of its own."""
    rng = np.random.default_rng(0)
    found = []
    for x, weight, width in parts:
        projection = rng.normal(size=(x.shape[1], width), scale=x.shape[1] ** -0.5).astype(np.float32)
        found.append(np.maximum(x @ projection, 0) * np.float32((weight / width) ** 0.5))
    return np.concatenate(found, 1)


def accuracy(h: NDArray[np.float32], y: Labels, h_test: NDArray[np.float32], y_test: Labels) -> float:
    """Learn from features `h` (N, M) of labels `y` and return the accuracy on the test features in per cent."""
    values, vectors = np.linalg.eigh((h @ h.T).astype(np.float64))
    values = values.clip(0)
    turned = vectors.T @ np.eye(y.max() + 1)[y]

    def score(gamma: float) -> float:
        left = turned * (gamma / (values + gamma))[:, None]
        return float((left**2).sum() / (1 - (values / (values + gamma)).mean()) ** 2)

    gamma = min(GAMMAS, key=score)
    dual = vectors @ (turned / (values + gamma)[:, None])
    return float(100 * ((h_test @ (h.T @ dual)).argmax(1) == y_test).mean())


def scores(data: Path, folder: Path, a_class: int = 50, side: int | None = None) -> dict[str, float]:
    """Score the model in `folder` on every data set with both readouts; CIFAR-100 has `a_class` training images.

    `side` is the size in pixels that the pictures are brought to; None: the model's own.
    """
    model = load_exported(folder, side)
    cifar = data / "cifar-100-binary"
    train, test = ((features(model, x), y) for x, y in (cifar100(cifar, "train", a_class), cifar100(cifar, "test", 20)))
    x_digits, y_digits, digits_test = digits()
    x_birds, y_birds, birds_test = birds(data / "CUB_200_2011", model.patch_embed.img_size[0])
    in_digits, in_birds = features(model, x_digits), features(model, x_birds)

    def twenties(h: NDArray[np.float32]) -> Iterator[float]:
        for first in range(0, 200, 20):
            chosen = (y_birds >= first) & (y_birds < first + 20)
            a, b = chosen & ~birds_test, chosen & birds_test
            yield accuracy(h[a], y_birds[a] - first, h[b], y_birds[b] - first)

    found = {}
    for name, full in (("class token", False), ("readout", True)):
        h, h_test = project(shares(train[0], full)), project(shares(test[0], full))
        found[f"CIFAR-100, {name}"] = accuracy(h, train[1], h_test, test[1])
        h = project(shares(in_digits, full))
        a, b = ~digits_test, digits_test
        found[f"digits, {name}"] = accuracy(h[a], y_digits[a], h[b], y_digits[b])
        found[f"birds, {name}"] = float(np.mean(list(twenties(project(shares(in_birds, full))))))
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    """Print the accuracies on a subset of CIFAR-100, scikit-learn's digits and CUB-200 in groups of 20 classes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="with cifar-100-binary/ and CUB_200_2011/"
    )
    parser.add_argument("--model", type=Path, default=Path("runs/pretrain/model"), help="exported folder")
    parser.add_argument("--side", type=int, help="pixels a side to look at (default: the model's own)")
    options = parser.parse_args()
    for name, value in scores(options.data, options.model, side=options.side).items():
        print(f"{name}: {value:.1f} %")


if __name__ == "__main__":
    main()
