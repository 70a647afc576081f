"""``foro experiment``: the paper's protocol, tables and figures."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from foro.cli.options import Json, chosen_engine, with_options_of
from foro.cli.terminal import say, say_json
from foro.errors import InputError, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from foro.engine import Engine
    from foro.research.protocol.run_groups import Group
    from foro.research.protocol.runner import Runner
    from foro.research.protocol.spec import Tasks
    from foro.research.studies.study import Kind

T = TypeVar("T")

app = typer.Typer(
    help="The paper's protocol: runs, tables, figures and a report. Ctrl-C is safe: the same command goes on.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Seeds = Annotated[str, typer.Option(help="Seeds of the class order and of the method.")]
Out = Annotated[Path, typer.Option(help="Folder of the results.")]
StudyName = Annotated[str, typer.Argument(metavar="NAME", help="One of the list above.", show_default=False)]


class StudyCommand(TyperCommand):
    """A command whose help lists the tables or figures of the registry, which is read only then."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The list, then the options."""
        from foro.research.studies.all_studies import STUDIES

        with formatter.section(f"{self.name}s".capitalize()):
            rows = [(study.name, f"{study.number}: {study.title}") for study in STUDIES if study.kind == self.name]
            formatter.write_dl(rows)
        super().format_options(ctx, formatter)


def _opened(
    backbone: Annotated[str, typer.Option(help="nano, a full timm name, or a folder with a checkpoint.")] = "nano",
    image_size: Annotated[
        int | None, typer.Option(help="Side of the input in pixels, if not the checkpoint's own.")
    ] = None,
    data_dir: Annotated[
        str | None,
        typer.Option(help="Folder that has the data sets in their official layout; otherwise downloaded once."),
    ] = None,
    train_per_class: Annotated[
        int | None, typer.Option(min=1, help="Only the first N train images of each class.")
    ] = None,
    test_per_class: Annotated[
        int | None, typer.Option(min=1, help="Only the first N test images of each class.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out images that cannot be decoded, and count them.")
    ] = False,
    out: Out = Path("runs"),
    cache: Annotated[
        bool, typer.Option(help="Keep features (at most 4 GB in the cache folder), to extract them once.")
    ] = True,
    settings: Annotated[
        list[str],
        typer.Option("--set", help="A setting as name=value, or of one method as ft.epochs=2; may be repeated."),
    ] = [],  # noqa: B006  typer's way of an option that may be repeated
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Short trainings of the methods that train, shown as such; FoRo stays as it is."),
    ] = False,
) -> "Runner":
    """What makes the runs."""
    from foro.config import parse_settings
    from foro.features.cache import FeatureCache
    from foro.research.protocol.experiment_setup import DataOptions, Setup
    from foro.research.protocol.method_catalog import FAST
    from foro.research.protocol.runner import Runner

    setup = Setup(backbone, image_size, DataOptions(data_dir, train_per_class, test_per_class, skip_bad))
    return Runner(setup, out, FeatureCache() if cache else None, {**(FAST if fast else {}), **parse_settings(settings)})


MakeStudy = Callable[["Kind", str], None]


@with_options_of(_opened)
def _study(
    runner: "Runner",
    methods: Annotated[
        str | None, typer.Option(help="Only these methods of ours, such as foro,kem; default: all.")
    ] = None,
    seeds: Seeds = "0,1,2",
    dataset: Annotated[str | None, typer.Option(help="Data sets, if not those of the paper.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Numbers of tasks, if not those of the paper.")] = None,
    values: Annotated[
        str | None,
        typer.Option(help="Values of what varies: λ, M, K (also in the complexity table), or prompt tokens."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the files, without their endings; default: the table's.")
    ] = None,
    run: Annotated[bool, typer.Option("--run/--no-run", help="Run what is missing, or take what is there.")] = True,
    as_json: Json = False,
) -> MakeStudy:
    """How a table or figure is made, given which."""

    def make(kind: "Kind", which: str) -> None:
        from foro.research.protocol.method_catalog import find_method
        from foro.research.studies.all_studies import find_study
        from foro.research.studies.study import Choice
        from foro.research.studies.tables_from_runs import run_study
        from foro.research.tables.markdown import to_entries, to_markdown
        from foro.research.tables.table_files import write_table

        study = find_study(which, kind)
        choice = Choice(
            listed(dataset, "data sets", str) if dataset else None,
            listed(tasks, "tasks", task_sizes) if tasks else None,
            listed(methods, "methods", str) if methods else None,
            listed(values, "values", float) if values else None,
        )
        for method in choice.methods or ():
            find_method(method)
        study.check(choice)
        made = run_study(study, choice, runner, _seeds(seeds), run)
        paths = write_table(made, runner.folder / "tables", name)
        if as_json:
            files = [str(path) for path in paths]
            say_json({"files": files, "cells": to_entries(made)})
            return
        for line in to_markdown(made).splitlines():
            say(line)
        say(", ".join(str(path) for path in paths))

    return make


@app.command("run")
@with_options_of(_opened)
@with_options_of(chosen_engine, into="engine")
def run(
    runner: "Runner",
    dataset: Annotated[str, typer.Option(help="Data sets with commas between them, or an image folder.")],
    tasks: Annotated[
        str, typer.Option(help="Numbers of tasks; 50+25+25 are tasks with these numbers of classes.")
    ] = "5",
    methods: Annotated[str, typer.Option(help="Methods; see: foro experiment list")] = "foro",
    seeds: Seeds = "0",
    blur: Annotated[float, typer.Option(help="Share of each class's train images that come in other tasks.")] = 0.0,
    imbalance: Annotated[
        float, typer.Option(help="How many times more train images the largest class has than the smallest.")
    ] = 1.0,
    engine: "Engine | None" = None,
    as_json: Json = False,
) -> None:
    """Run every method on every data set, number of tasks and seed; what is complete is not run again.

    Examples:

        foro experiment run --dataset digits --methods foro,kem --seeds 0,1,2

        foro experiment run --dataset cifar100,cub200 --tasks 5,25 --methods foro,kem --seeds 0,1,2 --data-dir data

        foro experiment run --dataset cifar100 --backbone vit_base_patch16_224.augreg_in1k --set population=4

        foro experiment run --dataset digits --methods foro,ft,lwf,l2p --fast

        foro experiment run --dataset digits --methods foro,kem --seeds 0,1,2 --engine ray --workers 2
    """
    from rich.console import Console

    from foro.research.protocol.grid import run_all
    from foro.research.protocol.method_catalog import check_shared, overrides_for
    from foro.research.protocol.ray_grid import find_grid
    from foro.research.protocol.run_groups import grouped, to_json
    from foro.research.protocol.spec import RunSpec

    names = listed(methods, "methods", str)
    check_shared(names, runner.common)  # a mistake is found before any data are read
    streams = product(listed(dataset, "data sets", str), listed(tasks, "tasks", task_sizes), names, _seeds(seeds))
    specs = [
        RunSpec(data, length, method, seed, overrides_for(method, runner.common), blur, imbalance)
        for data, length, method, seed in streams
    ]
    groups = grouped(run_all(runner, specs, parallel=find_grid(engine)))
    if as_json:
        say_json([to_json(group) for group in groups])
        return
    Console().print(_results(groups))
    say(f"results are in {runner.folder}; see them with: foro experiment report --out {runner.folder}")


@app.command("table", cls=StudyCommand)
@with_options_of(_study)
def table(make: MakeStudy, which: StudyName) -> None:
    """A table of the paper with its figures beside ours, as Markdown, CSV and PNG; runs what is missing.

    Examples:

        foro experiment table comparison --dataset cifar100,cub200 --data-dir data

        foro experiment table projection --methods kem,kem-paper --values 1000,8000 --seeds 0

        foro experiment table lambda --dataset cifar100 --no-run --json
    """
    make("table", which)


@app.command("figure", cls=StudyCommand)
@with_options_of(_study)
def figure(make: MakeStudy, which: StudyName) -> None:
    """A figure of the paper: ours as curves, with what the paper states; runs what is missing.

    Examples:

        foro experiment figure tasks --data-dir data

        foro experiment figure population --values 2,6,28 --methods foro --seeds 0

        foro experiment figure prompts --train-per-class 50 --test-per-class 20 --json
    """
    make("figure", which)


@app.command("report")
def report(
    out: Out = Path("runs"),
    report: Annotated[Path | None, typer.Option(help="Where to write it; default: report.html there.")] = None,
    as_json: Json = False,
) -> None:
    """One HTML page of all results in a folder: tables, curves, heat maps, and the command that repeats each run.

    Examples:

        foro experiment report

        foro experiment report --out runs --report talk.html
    """
    from foro.research.tables.report import write_report

    path = report or out / "report.html"
    runs = write_report(out, path)
    say_json({"report": str(path), "runs": runs}) if as_json else say(f"{path}: {counted(runs, 'run')}")


@app.command("list")
def list_all(
    method: Annotated[str | None, typer.Argument(help="A method, to see its settings.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Every method, data set, table and figure that experiments know, or the settings of one method.

    Examples:

        foro experiment list

        foro experiment list ranpac

        foro experiment list --json
    """
    from foro.research.datasets.registry import list_datasets
    from foro.research.protocol.method_catalog import find_method, list_methods
    from foro.research.studies.all_studies import STUDIES

    if method is not None:
        found = find_method(method)
        values = found.resolve({})
        helps = found.helps()
        if as_json:
            say_json({name: {"default": values[name], "help": helps[name]} for name in helps})
        else:
            rows = [(name, str(values[name]), helps[name]) for name in helps]
            _print_table(f"{method}: {found.summary}", ("setting", "default", "what it is"), rows)
        return
    registries = {
        "methods": {each.name: each.summary for each in list_methods()},
        "datasets": {entry.name: entry.summary for entry in list_datasets()},
        "studies": {study.name: f"{study.number}: {study.title}" for study in STUDIES},
    }
    if as_json:
        say_json(registries)
        return
    for title, entries in zip(("methods", "data sets", "tables and figures"), registries.values(), strict=True):
        _print_table(title, ("name", "what it is"), list(entries.items()))


def listed(text: str, what: str, read: Callable[[str], T]) -> tuple[T, ...]:
    """``a,b`` as its parts, each once, read by ``str``, ``int``, ``float`` or ``task_sizes``."""
    words = dict.fromkeys(word.strip() for word in text.split(",") if word.strip())
    if not words:
        raise InputError(f"{what} must be at least one, not {text!r}")
    try:
        return tuple(read(word) for word in words)
    except ValueError:
        kind = "numbers" if read is float else "whole numbers"
        raise InputError(f"{what} must be {kind} with commas between them, not {text!r}") from None


def task_sizes(word: str) -> "Tasks":
    """``25`` as a number of tasks, ``50+25+25`` as tasks with these numbers of classes."""
    return tuple(int(part) for part in word.split("+")) if "+" in word else int(word)


def _seeds(text: str) -> tuple[int, ...]:
    from foro.config import check_seed

    return tuple(map(check_seed, listed(text, "seeds", int)))


def _print_table(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*heads, title=title, title_justify="left", expand=True)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _results(groups: "list[Group]") -> "RenderableType":
    """A row for each method on each stream."""
    from rich.table import Table

    from foro.research.protocol.run_groups import titles

    table = Table("data", "T", "method", title="mean ± standard deviation over seeds, in %", title_justify="left")
    for title in ("A_T", "F", "incremental", "last", "seeds"):
        table.add_column(title, justify="right")
    names = ("average_accuracy", "average_forgetting", "average_incremental_accuracy", "last_accuracy")
    each, shared = titles(groups)
    for title, group in zip(each, groups, strict=True):
        cells = [group.percent(name).text() for name in names]
        table.add_row(group.first["data"]["title"], group.tasks, title, *cells, str(len(group.records)))
    described = dict.fromkeys(group.first["data"]["description"] for group in groups)
    backbone = groups[0].first["backbone"]
    where = f"{backbone['name']} at {backbone['image_size']} px"
    streams = dict.fromkeys(group.stream for group in groups)
    skipped = sum({group.first["data"]["name"]: group.first["data"]["skipped_images"] for group in groups}.values())
    told = [f"all with {shared}"] if shared else []
    told += [f"{counted(skipped, 'image')} that cannot be decoded left out"] if skipped else []
    table.caption = "\n".join([*described, *streams, where, *told])
    return table
