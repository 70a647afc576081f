"""The demonstration, end to end, as a user runs it: from the wheel, with the packages of its extra and no others."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from foro.errors import InputError
from foro.verbs.demo_report import render_report, write_report
from foro.verbs.digits_demo import LEARNERS, TASKS, DemoResult
from tests.test_distribution import Environment, pytestmark, source, wheel

__all__ = ["pytestmark", "source", "wheel"]  # fixtures and marks that hold here too


@pytest.fixture(scope="module")
def outcome(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str]:
    """The JSON and the report of one run."""
    folder = tmp_path_factory.mktemp("demo")
    shown = Environment(folder / "wheel", wheel, "demo").foro("demo", "--json", "--report", "report.html", cwd=folder)
    return json.loads(shown), (folder / "report.html").read_text(encoding="utf-8")


def test_foro_learns_all_digits_and_forgets_little(outcome: tuple[dict, str]) -> None:
    numbers, _ = outcome
    assert numbers["accuracy"] >= numbers["joint_accuracy"] - 1.0
    assert numbers["forgetting"] < 5.0
    assert numbers["newest_forgetting"] > 20.0
    assert numbers["newest_accuracy"] < numbers["accuracy"] - 20.0
    assert numbers["backbone"] == "vit_nano_patch8_96.foro2_tin200"


class Page(HTMLParser):
    """Collects what a page loads from elsewhere, and its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.headings = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.headings += tag in ("h1", "h2")
        for name, value in attrs:
            if name in ("src", "srcset") or (name in ("href", "xlink:href") and not str(value).startswith("#")):
                self.loaded.append(str(value))


def test_the_report_stands_alone(outcome: tuple[dict, str]) -> None:
    numbers, text = outcome
    page = Page()
    page.feed(text)
    assert page.loaded == []
    assert page.headings == 4
    assert not re.search(r"url\((?!#)|@import|<script", text)
    assert f"{numbers['accuracy']:.1f} %" in text
    assert text.count("<svg") == 1
    assert text.count("<table") == len(LEARNERS)
    assert 'name="viewport"' in text


def test_the_report_shows_the_matrix(tmp_path: Path) -> None:
    result = DemoResult(seed=3, images=10, seconds=2.0, backbone="<b>", adapted=True)
    for matrix in result.accuracy.values():
        for now in range(len(TASKS)):
            matrix[now, : now + 1] = 0.5 + 0.1 * now
    text = render_report(result)
    assert ">90</td>" in text
    assert "<b>)" not in text
    assert "Adapted on the first task. Seed: 3" in text
    assert "Adapted" not in render_report(replace(result, adapted=False))
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_report(result, tmp_path / "no" / "report.html")


def test_results_so_far_are_those_of_an_earlier_row() -> None:
    result = DemoResult(seed=0)
    result.accuracy["FoRo"][0, 0] = 1.0
    result.accuracy["FoRo"][1, :2] = [0.6, 0.8]
    assert result.done == 2
    assert result.average("FoRo") == pytest.approx(0.7)
    assert result.forgetting("FoRo") == pytest.approx(0.4)
    assert result.after(0).done == 1
    assert result.after(0).average("FoRo") == 1.0
    assert np.isnan(result.accuracy["newest task only"]).all()
