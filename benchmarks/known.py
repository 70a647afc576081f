"""What it costs to remember every image, and what it saves where a folder is taught again.

python benchmarks/known.py [--images N]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from common import digits_of, seconds

from foro import Learner
from foro.durable import DurableLearner
from foro.images.digests import as_digests, crop_digest
from foro.known import Known
from foro.research.methods.cached_learner import CachedLearner

MANY = 1_000_000


def main() -> None:
    images, labels = digits_of(__doc__)
    generator = np.random.default_rng(0)
    for size in (64, 224):
        crops = generator.integers(0, 256, (200, size, size, 3), dtype=np.uint8)
        each = seconds(lambda crops=crops: [crop_digest(crop) for crop in crops]) / len(crops)
        print(f"a digest of {size} x {size} pixels takes {1e6 * each:.0f} microseconds")
    warm = Learner("nano")
    warm.learn(images[:8], labels[:8])
    bare, learner = CachedLearner("nano"), Learner("nano")  # without a cache it is a learner that remembers nothing
    plain, remembering = (seconds(lambda each=each: each.learn(images, labels)) for each in (bare, learner))
    print(f"learning {len(labels)} images takes {remembering / plain:.2f} times as long as without remembering them")
    again = seconds(lambda: learner.learn(images, labels))
    print(f"teaching them again takes {again / remembering:.2f} of the time, and learns {learner.head.samples} in all")
    known = Known()
    known.add(as_digests(generator.bytes(16) for _ in range(MANY)), generator.integers(0, 1000, MANY).tolist())
    stored = sum(array.nbytes for array in known.state()[0].values())
    print(f"{MANY:,} images take {stored / MANY:.0f} bytes each, in the model file and in memory;")
    asked = as_digests(generator.bytes(16) for _ in range(1000))
    print(f"  to look one up takes {1e3 * seconds(lambda: known.labels_of(asked)):.1f} microseconds")
    undoing(images, labels)


def undoing(images: np.ndarray, labels: list[object]) -> None:
    """What the states before ten lessons take, and how long it takes to go back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.foro"
        with DurableLearner.open(path, create=lambda: Learner("nano")) as durable:
            part = len(labels) // 10
            taught = 0.0
            for number in range(10):
                mine = slice(number * part, (number + 1) * part)
                taught += seconds(lambda mine=mine: (durable.learn(images[mine], labels[mine]), durable.save()))
            beside = sum(each.stat().st_size for each in path.with_name("m.foro.undo").iterdir())
            print(f"ten lessons of {part} images: the model file has {path.stat().st_size / 1e6:.1f} MB, and what is")
            print(f"  kept beside it for undo {beside / 1e6:.1f} MB, {beside / 10 / part / 1e3:.1f} KB for each image;")
            undone = seconds(durable.undo)
            print(f"  to undo the last takes {undone / (taught / 10):.1f} times as long as to learn and save it")


if __name__ == "__main__":
    main()
