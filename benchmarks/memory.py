"""Peak resident memory of a process that learns ten classes, and then more, with a real ViT-Ti/16 and M = 8192.

python benchmarks/memory.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from common import VIT_TINY, cifar

from foro import Learner
from foro.research.protocol.streams import class_incremental
from foro.util.system import peak_megabytes


def peak() -> str:
    return f"{peak_megabytes():.0f} MB"


def main() -> None:
    stream = class_incremental(cifar(train_per_class=50, test_per_class=5), tasks=10)
    print(f"data read: {peak()}")
    learner = Learner(VIT_TINY, policy="none")
    print(f"backbone loaded: {peak()}")
    for task in stream.tasks[:3]:
        learner.learn(stream.train(task).images, stream.train(task).labels)
        learner.predict(stream.test(task).images)
        print(f"{learner.head.samples} images of {len(learner.labels)} classes learned, some predicted: {peak()}")
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "model")
        size = (Path(folder) / "model").stat().st_size / 2**20
    print(f"saved ({size:.0f} MB): {peak()}")


if __name__ == "__main__":
    main()
