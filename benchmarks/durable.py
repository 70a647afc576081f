"""What it costs that nothing learned can be lost: learning with a journal, beside learning in memory alone.

python benchmarks/durable.py [--images N]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from common import digits_of, seconds

from foro import Learner
from foro.durable import DurableLearner

SINGLE = 30


def main() -> None:
    images, labels = digits_of(__doc__)
    singles = [(images[number : number + 1], labels[number : number + 1]) for number in range(SINGLE)]
    with tempfile.TemporaryDirectory() as folder:
        plain = Learner("nano", policy="none")
        durable = DurableLearner.open(Path(folder) / "m.foro", create=lambda: Learner("nano", policy="none"))
        for learner in (plain, durable):
            learner.learn(images[:8], labels[:8])  # warm
        memory, journal = (
            seconds(lambda each=each: each.learn(images, labels, again=True)) for each in (plain, durable)
        )
        print(f"{len(labels)} images at once: with a journal {journal / memory:.2f} times as long as in memory alone")
        durable.save()
        memory, journal = (
            seconds(lambda each=each: [each.learn(*single, again=True) for single in singles])
            for each in (plain, durable)
        )
        path = Path(folder) / "plain.foro"
        saved = (
            seconds(lambda: [(plain.learn(*single, again=True), plain.save(path)) for single in singles[:5]])
            * SINGLE
            / 5
        )
        print(f"{SINGLE} images one by one: with a journal {journal / memory:.2f} times as long as in memory alone,")
        print(f"  writing the whole model file after each {saved / memory:.0f} times as long")
        size, model = durable.journal_bytes / SINGLE, path.stat().st_size
        print(f"  the journal has {size / 1024:.1f} KB for each of them; the model file has {model / 2**20:.0f} MB")
        memory_learner = seconds(lambda: Learner.load(path))
        durable.close()
        print(f"opening it again, with the journal replayed, {opened(durable.path) / memory_learner:.2f} times as long")


def opened(path: Path) -> float:
    return seconds(lambda: DurableLearner.open(path).close())


if __name__ == "__main__":
    main()
