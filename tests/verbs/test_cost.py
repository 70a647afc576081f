"""What a lesson will cost is said before it begins, and what each part took afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foro import DurableLearner, Learner
from foro.backbones import Backbone
from foro.cli.terminal import duration
from foro.verbs.cost import Cost, expected_cost
from foro.verbs.teach import MANY, teach


def write_lesson(folder: Path, count: int) -> Path:
    random = np.random.default_rng(count)
    for number in range(count):
        path = folder / f"class {number % 4}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 60 * (number % 4 + 1), (12, 12, 3), dtype=np.uint8)).save(path)
    return folder


def test_a_lesson_says_its_cost_and_its_parts(tiny_backbone: Backbone, tmp_path: Path) -> None:
    announced: list[Cost] = []
    with DurableLearner.open(tmp_path / "m.foro", create=lambda: Learner(tiny_backbone, projection_dim=32)) as model:
        taught = teach(model, write_lesson(tmp_path / "many", MANY + 6), announce=announced.append)
        few = teach(model, write_lesson(tmp_path / "few", 8), announce=announced.append)
    (cost,) = announced
    assert (cost.images, cost.adaptation) == (MANY + 6, 0.0)
    assert 0 < cost.seconds < 60
    for each in (taught, few):
        assert list(each.parts) == ["reading", "adaptation", "features", "classifier"]
        assert sum(each.parts.values()) == pytest.approx(each.seconds)
        assert min(each.parts.values()) >= 0
        assert each.as_dict()["parts"] == each.parts


@pytest.mark.parametrize("settings", [{"adaptation": "gains"}, {"adaptation": "prompt", "policy": "evolve"}])
def test_the_search_is_counted(tiny_backbone: Backbone, settings: dict[str, str]) -> None:
    images = np.random.default_rng(0).integers(0, 256, (160, 8, 8), dtype=np.uint8)
    labels = [number % 8 for number in range(160)]
    more = {"generations": 2, "search_images": 32, "population": 3, "projection_dim": 32}
    learner = Learner(tiny_backbone, **settings, **more)
    cost = expected_cost(learner, labels)
    passes = learner.learn(images, labels).forward_passes
    # Passes of the search and of the features, at the same price.
    assert (cost.adaptation / cost.features + 1) * len(images) == pytest.approx(passes, rel=0.25)
    if settings.get("policy") != "evolve":  # what is adapted once costs nothing any more
        assert expected_cost(learner, labels).adaptation == 0


def test_durations_are_for_people() -> None:
    assert [duration(each) for each in (3.4, 89, 420, 12_600)] == ["3 s", "89 s", "7 min", "3.5 h"]
