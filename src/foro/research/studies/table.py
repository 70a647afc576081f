"""A table of the paper beside ours: sections of rows, each cell with the paper's value and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from foro.research.protocol.record import Record
from foro.research.protocol.run_groups import Mean, percent, short_preset


@dataclass(frozen=True)
class Column:
    """A measured quantity: its symbol, digits after the point, and whether less is better (None: neither)."""

    title: str
    digits: int = 1
    less_is_better: bool | None = False


@dataclass(frozen=True)
class Cell:
    """The paper's value and ours, either of which may be missing; ``sources`` are the runs that ours is made of.

    Values of different streams are not ``comparable``: both are shown, but not their difference. ``varied`` is the
    setting that the row is about; every other setting that was changed is named in a footnote.
    """

    paper: Mean | None
    ours: Mean | None
    sources: tuple[Record, ...] = ()
    comparable: bool = True
    varied: str | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.paper is None or self.ours is None or not self.comparable:
            return None
        return self.ours.mean - self.paper.mean


@dataclass(frozen=True)
class Row:
    """A row of the paper and the method of ours that is shown beside it, if there is one.

    In a figure it is the point at ``x`` of the curve of ``series``, a method of the paper.
    """

    label: str
    method: str | None
    cells: tuple[Cell, ...]
    x: float | None = None
    series: str = "FoRo"

    @property
    def ours(self) -> str | None:
        """The method, with the preset that it was run with if that is not the default."""
        presets = {preset for cell in self.cells for record in cell.sources if (preset := short_preset(record))}
        return f"{self.method} ({', '.join(sorted(presets))})" if presets else self.method


Part = Literal["paper", "ours", "difference"]


@dataclass(frozen=True)
class Section:
    """Rows under the same columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def parts(self) -> list[tuple[Part, ...]]:
        """What to show of each column: ours, and of the others what at least one row has."""
        return [
            tuple(
                part
                for part in get_args(Part)
                if part == "ours" or any(getattr(cell, part) is not None for cell in cells)
            )
            for cells in zip(*(row.cells for row in self.rows), strict=True)
        ]


@dataclass(frozen=True)
class Table:
    """A table or figure: what is in it, and everything a reader must know about it."""

    name: str
    number: str  # in the paper: Table 1, Figure 3(a)
    title: str
    row_title: str
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    axis: str | None = None  # title of a figure's x axis; None: it is a table

    def cells(self) -> Iterator[Cell]:
        """Every cell."""
        for section in self.sections:
            for row in section.rows:
                yield from row.cells

    @property
    def sources(self) -> list[Record]:
        """The runs it was made of, each once."""
        records = {record.path: record for cell in self.cells() for record in cell.sources}
        return [records[path] for path in sorted(records)]


METRICS = (Column("A"), Column("F", less_is_better=True))
"""Average accuracy and average forgetting, which most of the paper's tables have."""


def accuracy_and_forgetting(
    records: Sequence[Record],
    paper: tuple[Mean | None, Mean | None],
    comparable: bool = True,
    varied: str | None = None,
) -> tuple[Cell, Cell]:
    """The cells of ``METRICS`` for runs of different seeds."""
    names = ("average_accuracy", "average_forgetting")
    first, second = (
        Cell(stated, percent(records, name), tuple(records), comparable, varied)
        for stated, name in zip(paper, names, strict=True)
    )
    return first, second


def averaged(
    groups: Sequence[Sequence[Record]], paper: tuple[Mean, Mean], comparable: bool = True
) -> tuple[Cell, Cell]:
    """The cells of ``METRICS`` averaged over streams, for the seeds that every stream was run with."""
    by_seed = [{record.content["seed"]: record for record in group} for group in groups]
    seeds = sorted(set.intersection(*(set(group) for group in by_seed))) if by_seed else []
    used = tuple(group[seed] for group in by_seed for seed in seeds)

    def mean(name: str) -> Mean | None:
        return Mean.of([100 * float(np.mean([group[seed].results[name] for group in by_seed])) for seed in seeds])

    return (
        Cell(paper[0], mean("average_accuracy"), used, comparable),
        Cell(paper[1], mean("average_forgetting"), used, comparable),
    )
