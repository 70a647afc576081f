"""At what size does the teacher know the training images best? They have 64 pixels a side, it was made for 224.

    python pretrain/teacher_sides.py --data ../shared/data --work runs/pretrain

Of every class of Tiny-ImageNet eight images teach a ridge classifier on the teacher's class token, and four test it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from crops import cut
from images import load_images
from layers import states
from monitor import WIDTH, accuracy, project
from teacher import NAME, load_teacher
from train import TARS

SIDES = (128, 160, 192, 224)
BATCH = 64


def main() -> None:
    """Print accuracy and processor time for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="as in train.py")
    parser.add_argument("--work", type=Path, default=Path("runs/pretrain"), help="as in train.py")
    options = parser.parse_args()
    torch.set_num_threads(1)
    images = load_images([options.data / tar for tar in TARS], options.work)
    rows = np.concatenate([np.flatnonzero(images.labels == c)[:12] for c in range(images.labels.max() + 1)])
    test, labels = np.arange(len(rows)) % 3 == 0, images.labels[rows]
    whole = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
    for side in SIDES:
        teacher = load_teacher(options.data / NAME, side)
        found = []
        began = time.process_time()
        with torch.inference_mode():
            for part in np.array_split(rows, len(rows) // BATCH):
                pixels = torch.from_numpy(images.pixels[part]).float() / 255
                x = cut(pixels, whole.expand(len(part), 4), side) * 2 - 1
                found.append(teacher.norm(states(teacher, x)[-1][:, 0]))
        each = (time.process_time() - began) / len(rows)
        h = project([(torch.cat(found).numpy(), 1.0, WIDTH)])
        right = accuracy(h[~test], labels[~test], h[test], labels[test])
        print(f"{side} px: {right:.1f} %, {1000 * each:.1f} core-milliseconds an image", flush=True)


if __name__ == "__main__":
    main()
