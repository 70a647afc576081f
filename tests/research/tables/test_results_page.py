"""The page of results says of made-up runs what they show, and nothing about what was not run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

from foro.research.protocol.record import Record
from foro.research.studies.all_studies import find_study
from foro.research.studies.study import Choice, Request
from foro.research.tables.markdown import to_markdown
from foro.research.tables.table_files import write_table
from tests.research.results import made_up

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    import claims

    return claims


def headline(folder: Path, gains: Sequence[float], seconds: float = 1.5, name: str = "table") -> list[tuple[str, Path]]:
    """The headline of ranpac, and of foro and kem, which gain so many points over it with each seed."""

    def answers(request: Request) -> Sequence[Record]:
        made = []
        for seed, gain in enumerate(gains):
            more = 0 if request.method == "ranpac" else gain / 100
            record = made_up(request, seed, 0.7 + seed / 100 + more)
            for task in record.content["tasks"]:
                task["learn"]["cpu_seconds"] = 3.0 if request.method == "ranpac" else seconds
                task["learn"]["peak_megabytes"] = 900 if request.method == "ranpac" else 450
            made.append(record)
        return made

    choice = Choice(tasks=(5,), methods=("kem", "foro", "ranpac"))
    write_table(find_study("headline", "table").build(choice, answers), folder, name)
    return [(name, folder / f"{name}.csv")]


@pytest.mark.parametrize(
    ("gains", "seconds", "verdict", "accuracy"),
    [
        ((1.0, 1.1, 1.2), 1.5, "holds", "on 1 of 1 streams, clearly more on 1, clearly less on 0;"),
        ((1.0, 1.1, 1.2), 6.0, "does not hold", "2.00 × its time; 0.50 × its memory"),
        ((-1.0, -1.1, -1.2), 1.5, "does not hold", "on 0 of 1 streams, clearly more on 0, clearly less on 1;"),
        ((-3.0, 1.0, -1.0), 1.5, "is open", "on 0 of 1 streams, clearly more on 0, clearly less on 0;"),
        ((1.0,), 1.5, "is open", "clearly less on 0 (1 with one seed only, which is never clear); 0.50 × its time"),
    ],
)
def test_the_claim_is_judged_by_the_runs(
    claims: ModuleType, tmp_path: Path, gains: Sequence[float], seconds: float, verdict: str, accuracy: str
) -> None:
    text = claims.findings(headline(tmp_path, gains, seconds))
    assert f"`foro`, with gains evolved on the first task: the claim **{verdict}**" in text
    assert accuracy in text
    assert "kem-cls" not in text  # it was not run


def test_without_runs_nothing_is_claimed(claims: ModuleType, tmp_path: Path) -> None:
    assert claims.findings([]).endswith("Nothing was run yet that could show it.")


def test_differences_stand_with_their_errors(claims: ModuleType, tmp_path: Path) -> None:
    text = claims.findings(headline(tmp_path, (0.9, 1.0, 1.1)))
    assert "| table, T = 5 | 3 | +1.0 ± 0.06 | +1.0 ± 0.06 | 0.50 ×, 0.50 × | 0.50 ×, 0.50 × |" in text
    assert "Evolving gains on the first task (`foro` less `kem`): +0.0 points on one stream." in text


def test_every_method_has_its_point_and_its_name(claims: ModuleType, tmp_path: Path) -> None:
    from draw_results import draw_results

    figure = draw_results([*headline(tmp_path, (1.0, 1.2)), *headline(tmp_path, (2.0, 1.2), name="other")])
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["table, T = 5", "other, T = 5"]
    for panel in figure.axes:
        assert {text.get_text() for text in panel.texts} == {"kem", "foro", "ranpac"}
        assert panel.get_xscale() == "log"
        boxes = [text.get_window_extent() for text in panel.texts]  # foro and kem stand at one place here
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert draw_results([]) is None


def test_sections_have_commands_that_exist_and_stages_that_end_with_all_seeds(claims: ModuleType) -> None:
    import make_results

    names = [section.name for section in make_results.SECTIONS]
    assert len(set(names)) == len(names)
    for section in make_results.SECTIONS:
        kind, which, *_ = section.command.split()
        find_study(which, kind)
        assert section.stages[max(section.stages)].startswith("0")
        assert "--fast" not in section.arguments("data")
    assert sys.modules["claims"] is claims


def test_results_in_the_repository_are_small_and_name_no_folder_of_a_machine(
    claims: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import make_results

    vit = make_results.VIT
    ran = f'"command": "foro experiment run --backbone /home/me/data/{vit} --data-dir /tmp/data --tasks 5",\n'
    (tmp_path / "run.json").write_text(f'{{{ran}"source": "/home/me/data/{vit}"}}')
    monkeypatch.setattr(make_results, "RUNS", tmp_path)
    make_results.hide_folders()
    for path in [*tmp_path.glob("*.json"), *(DOCS / "results" / "runs").glob("*.json")]:
        assert not re.search(r"[\" ]/", path.read_text(encoding="utf-8")), path.name
        assert path.stat().st_size < 100_000
    assert f"--backbone ../shared/data/{vit} --data-dir ../shared/data --tasks 5" in (tmp_path / "run.json").read_text()
    ignored = ["git", "check-ignore", "--quiet", "docs/results/runs/run.json"]
    if (DOCS.parent / ".git").exists():
        assert subprocess.run(ignored, cwd=DOCS.parent).returncode == 1


def test_what_was_not_run_takes_no_room_in_a_table_of_ours() -> None:
    def answers(request: Request) -> Sequence[Record]:
        return [made_up(request, 0)] if (request.method, request.tasks) == ("kem", 5) else []

    choice = Choice(tasks=(5, 25), methods=("kem", "foro"))
    text = to_markdown(find_study("headline", "table").build(choice, answers))
    assert "| `kem`" in text
    assert "T = 5**" in text
    assert "`foro` |" not in text
    assert "T = 25**" not in text
