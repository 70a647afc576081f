"""Megabytes that ``pip install foro`` brings, package by package, counted in the environment that runs this.

python benchmarks/installed_size.py
python benchmarks/installed_size.py --extras serve,demo
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rich.console import Console
from rich.table import Table


def resolved(name: str, extras: Iterable[str] = ()) -> set[str]:
    """Names of everything that installing a package with some extras brings along here, itself included."""
    found: set[str] = set()
    waiting = [(canonicalize_name(name), "")] + [(canonicalize_name(name), extra) for extra in extras]
    done = set()
    while waiting:
        package, extra = waiting.pop()
        if (package, extra) in done:
            continue
        done.add((package, extra))
        found.add(package)
        for text in distribution(package).requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                child = canonicalize_name(needed.name)
                waiting += [(child, ""), *((child, each) for each in needed.extras)]
    return found


def alone(name: str) -> dict[str, set[str]]:
    """Of each direct requirement of a package what nothing else of it brings: what would go with that requirement."""
    needed = [Requirement(text) for text in distribution(name).requires or []]
    direct = {canonicalize_name(each.name) for each in needed if not each.marker or each.marker.evaluate({"extra": ""})}
    brought = {each: resolved(each) for each in sorted(direct)}
    return {each: brought[each].difference(*(brought[other] for other in direct - {each})) for each in brought}


def megabytes(name: str) -> tuple[float, float]:
    """Of a package as it was packed, and of the bytecode that pip adds."""
    packed, compiled = 0, 0
    for file in distribution(name).files or []:
        path = file.locate()
        if path.is_file():
            size = path.stat().st_size
            packed, compiled = (packed, compiled + size) if file.suffix == ".pyc" else (packed + size, compiled)
    return packed / 1e6, compiled / 1e6


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="such as serve,demo")
    extras = [each for each in parser.parse_args(arguments).extras.split(",") if each]
    try:
        sizes = {name: megabytes(name) for name in resolved("foro", extras)}
    except PackageNotFoundError as error:
        parser.error(f"{error.name} is not installed here")
    named = f"foro[{','.join(extras)}]" if extras else "foro"
    table = Table("package", "MB", "bytecode, MB", title=f'What pip install "{named}" brings')
    large = sorted((name for name in sizes if sum(sizes[name]) >= 3), key=lambda name: -sum(sizes[name]))
    rest = [name for name in sizes if name not in large]
    for title, names in [*((name, [name]) for name in large), (f"{len(rest)} more", rest), ("all", list(sizes))]:
        table.add_row(title, *(f"{sum(sizes[name][part] for name in names):.1f}" for part in (0, 1)))
    Console().print(table)
    if not extras:
        gone = {name: sum(sizes[each][0] for each in only) for name, only in alone("foro").items()}
        told = ", ".join(
            f"{name} {size:.0f}" for name, size in sorted(gone.items(), key=lambda each: -each[1]) if size >= 1
        )
        Console().print(f"MB that would go with a requirement, and with what only it brings: {told}")


if __name__ == "__main__":
    main()
