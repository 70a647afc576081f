"""The report: one page with everything inside."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from foro.errors import InputError
from foro.research.studies.study import Request
from foro.research.tables.report import render_report, write_report
from tests.research.results import made_up


class Page(HTMLParser):
    """Collects what a page loads from elsewhere, its ids, and its headings."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.opened: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("src", "srcset", "href", "xlink:href") and not str(value).startswith(("#", "data:")):
                self.loaded.append(str(value))


@pytest.fixture(scope="module")
def html() -> str:
    requests = [Request("cifar100", tasks, method) for tasks in (5, 25) for method in ("foro", "kem")]
    requests += [Request("cifar100", 25, "foro", {"population": size}) for size in (2, 4, 6)]
    return render_report([made_up(request, seed, 0.7 + seed / 50) for request in requests for seed in (0, 1)])


def test_is_self_contained_and_has_no_id_twice(html: str) -> None:
    page = Page(html)
    assert page.loaded == []
    assert "<script" not in html
    assert len(page.ids) == len(set(page.ids))
    assert page.opened.count("svg") >= 5


def test_shows_tables_curves_heat_maps_and_how_to_repeat_each_run(html: str) -> None:
    assert "Table 1: comparison of methods" in html
    assert "Figure 3(a)" in html
    assert "CIFAR100, 5 tasks" in html
    assert html.count("<details class=run>") == 14
    assert "foro experiment run --seeds 1 &lt;&amp;&gt;" in html
    assert re.search(r"background:hsl\(140 55% \d+%\)", html)
    assert "population = 2" in html


def test_sweeps_are_not_among_the_methods_of_a_stream(html: str) -> None:
    (stream,) = re.findall(r"<h3>CIFAR100, 25 tasks.*?</section>", html, re.S)
    assert "population" not in stream


def test_blurry_runs_are_another_stream() -> None:
    request = Request("cifar100", 5, "kem")
    about = "cifar100: 50 of 500 train images a class; 5 tasks, class order from seed 0"
    blurry = {"tasks": 5, "blur": 0.2, "description": f"{about}, 20 % of each class's train images in other tasks"}
    sharp = {"tasks": 5, "blur": 0.0, "description": about}
    html = render_report([made_up(request, 0, stream=stream) for stream in (sharp, blurry)])
    assert html.count("<h3>CIFAR100, 5 tasks</h3>") == 2


def test_is_written_from_a_folder_of_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no results"):
        write_report(tmp_path, tmp_path / "report.html")
    made_up(Request("cifar100", 5, "foro"), 0, folder=tmp_path)
    removed = made_up(
        Request("cifar100", 5, "kem"), 0, folder=tmp_path, method="baseline-not-installed", overrides={"a": 1}
    )
    (tmp_path / "notes.json").write_text("[]")
    assert write_report(tmp_path, tmp_path / "report.html") == 2
    assert removed.path.name in (tmp_path / "report.html").read_text()
