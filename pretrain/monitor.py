"""Score an exported backbone: a ridge classifier on ReLU random projections of its class token.

    python pretrain/monitor.py --data ../shared/data --model src/foro/backbones/embedded/nano_weights

This watches the training; nothing is chosen by it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file
from sklearn.datasets import load_digits
from student import SIDE, build_student, student_forward
from torch import Tensor

WIDTH = 4096
GAMMAS = 10.0 ** np.arange(-2, 6.25, 0.25)

Split = tuple[Tensor, NDArray[np.int64]]


def cifar100(folder: Path, name: str, a_class: int) -> Split:
    """Read the first `a_class` images of each class of an official binary file, in [0, 1]."""
    records = np.fromfile(folder / f"{name}.bin", np.uint8).reshape(-1, 3074)
    fine = records[:, 1].astype(np.int64)
    rows = np.concatenate([np.flatnonzero(fine == c)[:a_class] for c in range(100)])
    return torch.from_numpy(records[rows, 2:]).reshape(-1, 3, 32, 32).float() / 255, fine[rows]


def digits() -> tuple[Split, Split]:
    """Return scikit-learn's digits as RGB in [0, 1]: four fifths to learn from, every fifth to test."""
    data = load_digits()
    x = torch.from_numpy(data.images).float()[:, None].expand(-1, 3, -1, -1) / 16
    test = np.arange(len(x)) % 5 == 0
    return (x[~test], data.target[~test]), (x[test], data.target[test])


def features(folder: Path, x: Tensor) -> NDArray[np.float64]:
    """Return the class token of every picture of `x` (N, 3, H, W), brought to 64 px by bicubic resizing."""
    model = build_student().eval()
    model.load_state_dict({name: t.float() for name, t in load_file(folder / "model.safetensors").items()})
    found = []
    with torch.inference_mode():
        for part in x.split(128):
            resized = F.interpolate(part, size=(SIDE, SIDE), mode="bicubic", align_corners=False).clamp(0, 1)
            found.append(student_forward(model, resized * 2 - 1)[0])
    return torch.cat(found).double().numpy()


def predict(train: NDArray[np.float64], y: NDArray[np.int64], test: NDArray[np.float64]) -> NDArray[np.int64]:
    """Predict the classes of `test`, with the ridge chosen by generalised cross-validation on `train`."""
    weights = np.random.default_rng(0).normal(size=(train.shape[1], WIDTH)) / np.sqrt(train.shape[1])
    h, h_test = np.maximum(train @ weights, 0), np.maximum(test @ weights, 0)
    wanted = np.eye(y.max() + 1)[y]
    values, vectors = np.linalg.eigh(h @ h.T)
    turned = vectors.T @ wanted

    def score(gamma: float) -> float:
        left = turned * (gamma / (values + gamma))[:, None]
        return float((left**2).sum() / (1 - (values / (values + gamma)).mean()) ** 2)

    gamma = min(GAMMAS, key=score)
    dual = vectors @ (turned / (values + gamma)[:, None])
    return (h_test @ (h.T @ dual)).argmax(1)


def main() -> None:
    """Print the accuracy on a subset of CIFAR-100 and on scikit-learn's digits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="with cifar-100-binary/")
    parser.add_argument(
        "--model", type=Path, default=Path("src/foro/backbones/embedded/nano_weights"), help="exported folder"
    )
    args = parser.parse_args()
    folder = args.data / "cifar-100-binary"
    tasks = {
        "CIFAR-100, 50 train and 20 test images a class": (
            cifar100(folder, "train", 50),
            cifar100(folder, "test", 20),
        ),
        "digits": digits(),
    }
    for name, ((x, y), (x_test, y_test)) in tasks.items():
        predicted = predict(features(args.model, x), y, features(args.model, x_test))
        print(f"{name}: {100 * (predicted == y_test).mean():.1f} %")


if __name__ == "__main__":
    main()
