"""What the commands of ``foro experiment`` do, from what is written on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from foro.config import check_seed, parse_settings
from foro.errors import InputError
from foro.features.cache import FeatureCache
from foro.research.methods.method import find_method
from foro.research.protocol import options
from foro.research.protocol.bench import Bench, DataOptions
from foro.research.protocol.grid import Together, run_all
from foro.research.protocol.runner import Runner
from foro.research.protocol.shared_settings import FAST, check_common, free
from foro.research.protocol.spec import RunSpec
from foro.research.studies.answer import answered, write_table
from foro.research.studies.study import Choice, Kind, find_study
from foro.research.tables.summary import Group, grouped
from foro.research.tables.table import Table


def open_runner(
    *,
    backbone: str,
    image_size: int | None,
    data_dir: str | None,
    train_per_class: int | None,
    test_per_class: int | None,
    skip_bad: bool,
    out: Path,
    cache: bool,
    settings: Sequence[str],
    fast: bool = False,
) -> Runner:
    """A runner for the options that all commands have."""
    data = DataOptions(data_dir, train_per_class, test_per_class, skip_bad)
    features = FeatureCache() if cache else None
    common = {**(FAST if fast else {}), **parse_settings(settings)}
    return Runner(Bench(backbone, image_size, data), out, features, common)


def run_product(
    runner: Runner,
    *,
    datasets: str,
    tasks: str,
    methods: str,
    seeds: str,
    blur: float,
    together: Together | None = None,
) -> list[Group]:
    """Every method on every data set, number of tasks and seed; the results of the same method together."""
    lists = (
        _some(options.words(datasets), "data set"),
        _some(options.task_lists(tasks), "number of tasks"),
        _some(options.words(methods), "method"),
        _seeds(seeds),
    )
    check_common(lists[2], runner.common)  # a mistake is found before any data are read
    specs = [
        RunSpec(dataset, length, method, seed, free(method, runner.common), blur)
        for dataset, length, method, seed in product(*lists)
    ]
    return grouped(run_all(runner, specs, together=together))


def make_study(
    runner: Runner,
    *,
    kind: Kind,
    name: str,
    datasets: str | None,
    tasks: str | None,
    methods: str | None,
    values: str | None,
    seeds: str,
    file_name: str | None,
    run: bool,
) -> tuple[Table, list[Path]]:
    """A table or figure of the paper, and the files it was written to, in ``tables`` beside the results."""
    study = find_study(name, kind)
    chosen = options.words(methods) if methods else None
    for method in chosen or ():
        find_method(method)
    choice = Choice(
        options.words(datasets) if datasets else None,
        options.task_lists(tasks) if tasks else None,
        chosen,
        options.numbers(values, "values") if values else None,
    )
    study.check(choice)
    table = answered(study, choice, runner, _seeds(seeds), run)
    return table, write_table(table, kind, runner.folder / "tables", file_name)


def _seeds(text: str) -> tuple[int, ...]:
    return tuple(check_seed(seed) for seed in _some(options.integers(text, "seeds"), "seed"))


def _some(values: tuple[options.T, ...], what: str) -> tuple[options.T, ...]:
    if not values:
        raise InputError(f"at least one {what} is needed")
    return values
