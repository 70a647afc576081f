"""Tables and figures: what they request for, what they show, and that nothing is filled in that was not run."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from foro.errors import InputError
from foro.research.protocol.experiment_setup import Setup
from foro.research.protocol.method_catalog import find_method
from foro.research.protocol.record import Record
from foro.research.protocol.run_groups import Mean
from foro.research.protocol.runner import Runner
from foro.research.studies import paper
from foro.research.studies.all_studies import find_study, list_studies
from foro.research.studies.study import Choice, Request
from foro.research.studies.table import Row, Table
from foro.research.studies.tables_from_runs import from_records, run_study
from foro.research.tables.footnotes import Footnotes
from foro.research.tables.markdown import to_csv, to_entries, to_markdown
from foro.research.tables.report import html_table
from foro.research.tables.table_files import write_table
from tests.research.conftest import SMALL
from tests.research.results import made_up


def nothing(_request: Request) -> Sequence[Record]:
    return ()


def run_with(*seeds: int, accuracy: float = 0.8) -> Callable[[Request], Sequence[Record]]:
    """Answers everything with runs of these seeds, a tenth apart."""
    return lambda request: [made_up(request, seed, accuracy + seed / 100) for seed in seeds]


def row(table: Table, label: str, method: str | None, section: int = 0) -> Row:
    (found,) = (each for each in table.sections[section].rows if (each.label, each.method) == (label, method))
    return found


@pytest.mark.parametrize("study", [each for each in list_studies() if each.number != "Ours"], ids=lambda it: it.name)
def test_without_a_run_there_are_the_papers_figures_and_no_others(study) -> None:  # type: ignore[no-untyped-def]
    table = study.build(Choice(), nothing)
    assert any(cell.paper for cell in table.cells())
    assert not any(cell.ours or cell.difference or cell.sources for cell in table.cells())
    assert "<sup>" not in to_markdown(table)
    assert study.requests(Choice())
    assert {request.method for request in study.requests(Choice(methods=("foro-paper",)))} == {"foro-paper"}


def test_each_study_asks_for_what_the_paper_has() -> None:
    def asked(name: str, choice: Choice) -> list[tuple[object, ...]]:
        (study,) = (study for study in list_studies() if study.name == name)
        return [
            (request.dataset, request.tasks, request.method, *request.settings.items())
            for request in study.requests(choice)
        ]

    kem = Choice(methods=("kem",))
    streams = [(dataset, tasks) for dataset in ("cifar100", "imagenet_r", "cub200") for tasks in (5, 25)]
    assert set(asked("comparison", kem)) == {(*stream, "kem") for stream in streams}
    assert set(asked("ablation", kem)) == {(*stream, "kem") for stream in streams}
    assert asked("tasks", kem) == [("cifar100", tasks, "kem") for tasks in (5, 25, 50)]
    foro = Choice(methods=("foro",), values=(2.0, 8.0))
    assert asked("complexity", foro) == [("cifar100", 25, "foro", ("population", size)) for size in (2, 8)]
    assert asked("population", foro) == [("cifar100", 25, "foro", ("population", size)) for size in (2, 8)]
    assert asked("prompts", foro) == [("cifar100", 25, "foro", ("prompt_tokens", size)) for size in (2, 8)]
    assert asked("projection", foro) == [("cifar100", 5, "foro", ("projection_dim", size)) for size in (2, 8)]
    weights = asked("lambda", Choice())  # the fitness of foro has no λ
    assert weights == [("imagenet_r", 5, "foro-paper", ("discrepancy_weight", w)) for w in (0.1, 0.3, 0.5, 0.7, 0.9)]


def test_a_row_of_the_ablation_has_the_fitness_that_it_says() -> None:
    table = find_study("ablation", "table").build(Choice(datasets=("cifar100",)), run_with(0))
    rows = {(each.label, each.method) for each in table.sections[0].rows}
    assert ("Entropy + Discrepancy + KEM", "foro-paper") in rows
    assert ("Entropy + Discrepancy + KEM", "foro") not in rows
    assert {("Entropy + KEM", "entropy-kem"), ("Entropy + KEM", "entropy-kem-paper"), ("FT", "ft")} <= rows


def test_each_step_is_compared_with_the_run_of_the_same_seed() -> None:
    def answers(request: Request) -> Sequence[Record]:
        gain = 0.02 if request.settings.get("policy") == "evolve" else 0.0
        return [made_up(request, seed, 0.5 + seed / 10 + gain * seed) for seed in (0, 1, 2)]

    (section,) = find_study("steps", "table").build(Choice(), answers).sections
    gains = {each.label: each.cells[2].ours for each in section.rows}
    assert gains["several tokens"] == Mean(0.0, 0.0, 3)
    evolved = gains["gains that evolve with every task"]
    assert evolved is not None
    assert (evolved.mean, evolved.deviation) == (pytest.approx(2.0), pytest.approx(2.0 / 3**0.5))
    text = to_markdown(find_study("steps", "table").build(Choice(), nothing))
    assert "Paper:" not in text


def test_the_headline_pairs_seeds_with_ranpacs_and_takes_the_order_of_the_methods() -> None:
    def answers(request: Request) -> Sequence[Record]:
        seeds = (0, 1) if request.method == "ranpac" else (0, 1, 2)
        return [
            made_up(request, seed, 0.5 + seed / 10 + (seed + 1) / 100 * (request.method == "foro")) for seed in seeds
        ]

    choice = Choice(tasks=(5,), methods=("ranpac", "foro"))
    (section,) = find_study("headline", "table").build(choice, answers).sections
    ranpac, foro = section.rows
    assert (ranpac.method, ranpac.cells[2].ours, foro.method) == ("ranpac", None, "foro")
    gain = foro.cells[2].ours
    assert gain is not None
    assert (gain.mean, gain.deviation, gain.seeds) == (pytest.approx(1.5), pytest.approx(0.5), 2)
    assert [cell.ours and cell.ours.mean for cell in foro.cells[5:]] == [7.5, 101.0]


def test_uneven_streams_are_asked_for_beside_even_ones() -> None:
    requests = find_study("uneven", "table").requests(Choice(methods=("kem",)))
    assert [(each.blur, each.imbalance) for each in requests] == [(0.0, 1.0), (0.3, 1.0), (0.0, 10.0), (0.3, 10.0)]


@pytest.mark.parametrize(
    ("name", "choice", "said"),
    [
        ("comparison", Choice(values=(1.0,)), "comparison varies no setting"),
        ("lambda", Choice(datasets=("cifar100", "cub200")), "lambda is of one data set"),
        ("complexity", Choice(tasks=(5, 25)), "complexity is of one number of tasks"),
        ("lambda", Choice(methods=("kem",)), "kem has no row in the table lambda; these have: foro-paper"),
        ("comparison", Choice(datasets=("digits",), methods=("entropy-kem",)), "entropy-kem has no row in the table"),
        ("projection", Choice(values=(64.5,)), "M must be a whole number, not 64.5"),
    ],
)
def test_what_a_study_would_pass_over_is_refused(name: str, choice: Choice, said: str) -> None:
    with pytest.raises(InputError, match=said):
        find_study(name, "table").check(choice)


def test_every_changed_setting_is_told_once() -> None:
    study = find_study("comparison", "table")
    changed = {"projection_dim": 64, "preset": "fast"}

    def answers(request: Request) -> Sequence[Record]:
        known = find_method(request.method).resolve({})
        settings = {name: value for name, value in changed.items() if name in known}
        return [made_up(Request(request.dataset, request.tasks, request.method, settings), 0)]

    text = to_markdown(study.build(Choice(("cifar100",), (5,), ("kem", "ranpac")), answers))
    assert "projection_dim = 64; seed 0." in text
    assert text.count("projection_dim = 64") == 2
    assert "fast preset: epochs = 4" in text
    swept = find_study("projection", "table").build(Choice(methods=("kem",), values=(64.0,)), run_with(0))
    assert "projection_dim" not in to_markdown(swept)  # the row says it


def test_what_a_run_said_and_how_its_stream_was_cut_is_told() -> None:
    def answers(request: Request) -> Sequence[Record]:
        record = made_up(request, 0)
        tasks = [{**task, "labels": ["a"] * (2 - number % 2)} for number, task in enumerate(record.content["tasks"])]
        tasks[0] = {**tasks[0], "learn": {**tasks[0]["learn"], "note": "the prompt was too long"}}
        return [Record(record.path, {**record.content, "tasks": tasks})]

    text = to_markdown(find_study("comparison", "table").build(Choice(("cifar100",), (5,), ("foro",)), answers))
    assert "tasks of 2 to 1 classes; the prompt was too long; seed 0." in text


def test_ours_stands_beside_the_papers_with_the_difference_and_the_conditions() -> None:
    choice = Choice(datasets=("cifar100",), tasks=(5,), methods=("foro", "kem"))
    table = find_study("comparison", "table").build(choice, run_with(0, 1))
    cell = row(table, "FoRo", "foro").cells[0]
    assert cell.paper == Mean(88.3, 1.18, 3)
    assert cell.ours is not None
    assert cell.ours.mean == pytest.approx(80.5)
    assert cell.ours.deviation == pytest.approx(0.7071, abs=1e-4)
    assert cell.difference == pytest.approx(-7.8)
    text = to_markdown(table)
    assert "| FoRo | `foro` | 88.3 ± 1.18 | 80.5 ± 0.71 <sup>a</sup> | −7.8 |" in text
    assert "| LwF | – | 83.3 ± 1.46 | – | – | 9.1 ± 0.72 | – | – |" in text
    assert "<sup>a</sup> nano at 64 px instead of the paper's ViT-B/16 at 224 px; a subset: cifar100: 50 of" in text
    assert "seeds 0, 1." in text
    assert "doi:10.1145/3746027.3755302" in text


def test_what_no_row_has_takes_no_room() -> None:
    """The paper has no accuracy of all test images, and of other data than its own there are no differences."""
    study, methods = find_study("tasks", "figure"), ("kem",)
    same = study.build(Choice(methods=methods), run_with(0))
    assert same.sections[0].parts == [("paper", "ours", "difference")] * 2 + [("ours",)]
    other = study.build(Choice(datasets=("cub200",), methods=methods), run_with(0))
    assert "| A paper | A ours | F paper | F ours | accuracy of all test images ours |" in to_markdown(other)
    assert ("diff." in html_table(same), "diff." in html_table(other)) == (True, False)


def test_every_row_of_the_comparison_has_a_method_of_ours() -> None:
    """The paper's ten rows, in its order, and none without a method that can be run."""
    table = find_study("comparison", "table").build(Choice(datasets=("cifar100",)), run_with(0))
    rows = table.sections[0].rows
    assert tuple(dict.fromkeys(each.label for each in rows)) == paper.METHODS
    assert {"ft", "lwf", "dsg", "l2p", "layup", "adam", "ranpac"} <= {each.method for each in rows}
    assert all(cell.ours and cell.paper for each in rows for cell in each.cells)


def test_runs_under_other_conditions_have_another_mark() -> None:
    notes = Footnotes()
    table = find_study("tasks", "figure").build(Choice(methods=("kem",)), run_with(0))
    marks = {notes.mark(cell) for cell in table.cells()}
    assert marks == {"", "a"}
    other = find_study("tasks", "figure").build(Choice(datasets=("cub200",), methods=("kem",)), run_with(0, 1))
    assert {notes.mark(cell) for cell in other.cells()} == {"", "b"}
    shared, first, second = notes.lines()
    assert shared == ("", "All of ours: nano at 64 px instead of the paper's ViT-B/16 at 224 px")
    assert (first[0], first[1][:19]) == ("a", "a subset: cifar100:")
    assert (second[0], second[1][:17]) == ("b", "a subset: cub200:")
    assert not any(cell.difference for cell in other.cells())  # the paper's is of other data


def test_an_average_needs_every_stream_and_takes_the_seeds_that_all_have() -> None:
    study = find_study("comparison", "table")

    def some(request: Request) -> Sequence[Record]:
        return (
            run_with(0, 1)(request) if request.method == "kem" and request.dataset != "cub200" else run_with(0)(request)
        )

    whole = study.build(Choice(), some)
    kem = row(whole, "KEM", "kem", section=3).cells[0]
    assert kem.ours == Mean(pytest.approx(80.0), None, 1)  # type: ignore[arg-type]
    assert kem.paper == Mean(81.4)
    none = study.build(Choice(), lambda request: () if request.dataset == "cub200" else run_with(0)(request))
    assert row(none, "KEM", "kem", section=3).cells[0].ours is None
    part = study.build(Choice(datasets=("cifar100",)), some)
    assert len(part.sections) == 1
    assert "Only what was asked for" in part.notes[0]


def test_the_ablation_says_what_it_is_an_average_of() -> None:
    table = find_study("ablation", "table").build(Choice(datasets=("cifar100",)), run_with(0))
    assert "Ours are averages of CIFAR-100, T = 5 and 25" in table.notes[0]
    cell = row(table, "Entropy + KEM", "entropy-kem").cells[0]
    assert (cell.paper, cell.difference) == (Mean(83.7), None)


def test_seconds_that_the_cache_cut_short_are_not_shown() -> None:
    study = find_study("complexity", "table")
    timed = row(study.build(Choice(), run_with(0)), "KEM", "kem")
    expected = [2.0, 0.0, pytest.approx(80.0), 0.0, 50.0, 100.0, 1.0, 1.0]
    assert [cell.ours and cell.ours.mean for cell in timed.cells] == expected
    cached = row(study.build(Choice(), lambda request: [made_up(request, 0, cached=5)]), "KEM", "kem")
    assert cached.cells[4].ours is None
    assert cached.cells[2].ours is not None
    shared = row(study.build(Choice(), lambda request: [made_up(request, 0, alone=False)]), "KEM", "kem")
    assert shared.cells[5].ours is None  # the memory of a process that had done other runs
    assert shared.cells[4].ours is not None


def test_costs_are_ratios_to_kem_and_the_papers_to_its_own() -> None:
    study = find_study("complexity", "table")
    slow = {"seconds": 6.0, "peak_megabytes": 150.0, "cached_passes": 0}
    learn = {**slow, "forward_passes": 40, "backward_passes": 20, "note": None}
    task = {"labels": [], "train_images": 20, "test_images": 10, "learn": learn, "test": slow}

    def answers(request: Request) -> Sequence[Record]:
        return [made_up(request, 0)] if request.method == "kem" else [made_up(request, 0, tasks=[task] * 25)]

    table = study.build(Choice(methods=("kem", "foro"), values=(6,)), answers)
    cells = row(table, "FoRo (K = 6)", "foro").cells
    assert [cell.ours and cell.ours.mean for cell in cells[-2:]] == [3.0, 1.5]
    assert [cell.paper and round(cell.paper.mean, 2) for cell in cells[-2:]] == [6.0, 1.06]
    assert {each.label for each in table.sections[0].rows} == {*paper.METHODS, "FoRo (K = 6)"} - {"FoRo"}
    alone = row(study.build(Choice(methods=("foro",), values=(6,)), answers), "FoRo (K = 6)", "foro").cells
    assert [cell.ours for cell in alone[-2:]] == [None, None]  # nothing to compare with


def test_csv_has_one_line_for_each_cell() -> None:
    table = find_study("lambda", "table").build(Choice(methods=("foro-paper",)), run_with(0))
    lines = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert len(lines) == 10
    assert lines[0]["paper"] == "77.8"
    assert float(lines[0]["ours"]) == pytest.approx(80.0)
    assert lines[0]["paper_deviation"] == ""
    assert len(to_entries(table)) == 10


@pytest.mark.parametrize("study", list_studies(), ids=lambda study: study.name)
def test_every_study_is_written_as_markdown_csv_and_png(study, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    choice = Choice(datasets=("cifar100",), methods=("foro", "kem"))
    paths = write_table(study.build(choice, run_with(0, 1)), tmp_path, "name")
    assert [path.name for path in paths] == ["name.md", "name.csv", "name.png"]
    assert paths[2].read_bytes().startswith(b"\x89PNG")


def test_runs_what_is_missing_or_takes_what_is_there(setup: Setup, tmp_path: Path) -> None:
    runner = Runner(setup, tmp_path, common=SMALL)
    study = find_study("tasks", "figure")
    choice = Choice(datasets=("digits",), tasks=(2, 5), methods=("kem", "fitness"))
    empty = run_study(study, choice, runner, (0, 1), run=False)
    assert not empty.sources
    assert empty.notes[-1] == "Not run: kem (digits, T = 2, seeds 0, 1); kem (digits, T = 5, seeds 0, 1)"
    table = run_study(study, choice, runner, (0,))
    assert not any("Not run" in note for note in table.notes)
    assert len(table.sources) == 2
    assert row(table, "T = 5, KEM", "kem").cells[0].ours is not None
    # A setting that defines a method is not overridden by what is common to all.
    ablation = run_study(
        find_study("ablation", "table"), Choice(("digits",), (2,), ("discrepancy", "kem")), runner, (0,)
    )
    assert ablation.sources[0].content["settings"]["projection_dim"] is None


def test_tables_from_records_are_those_that_say_something(tmp_path: Path) -> None:
    foro = [Request("cifar100", 25, "foro", {"population": size}) for size in (2, 4, 6)]
    records = [made_up(request, seed) for request in [*foro, Request("cifar100", 25, "kem")] for seed in (0, 1)]
    found = {study.name: from_records(study, records, {}) for study in list_studies()}
    assert [name for name, tables in found.items() if tables] == ["comparison", "complexity", "population"]
    assert len(found["population"][0].sources) == 6
    elsewhere = [made_up(Request("cub200", 5, "foro-paper", {"discrepancy_weight": w}), 0) for w in paper.LAMBDA]
    (table,) = from_records(find_study("lambda", "table"), elsewhere, {})
    assert len(table.sources) == 5


def test_an_unknown_study_is_an_error_that_names_the_others() -> None:
    with pytest.raises(InputError, match="there is no figure 'lambda'; choose among population, prompts, tasks"):
        find_study("lambda", "figure")
