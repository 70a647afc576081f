"""A table of the paper beside ours: sections of rows, each cell with the paper's value and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from string import ascii_lowercase
from typing import Literal, get_args

from foro.errors import InputError
from foro.research.methods.method import find_method
from foro.research.protocol.record import Record
from foro.research.tables.summary import overridden, settings_text
from foro.research.tables.value import Value


@dataclass(frozen=True)
class Column:
    """A measured quantity: its symbol, digits after the point, and whether less is better (None: neither)."""

    title: str
    digits: int = 1
    less_is_better: bool | None = False


@dataclass(frozen=True)
class Cell:
    """The paper's value and ours, either of which may be missing; ``sources`` are the runs that ours is made of.

    Values of different streams are not ``comparable``: they stand beside each other, but their difference says nothing.
    ``told`` is the setting that the row is about; every other one that was changed is told in a footnote.
    """

    paper: Value | None
    ours: Value | None
    sources: tuple[Record, ...] = ()
    comparable: bool = True
    told: str | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.paper is None or self.ours is None or not self.comparable:
            return None
        return self.ours.mean - self.paper.mean


@dataclass(frozen=True)
class Row:
    """A row of the paper and the method of ours that stands beside it, if there is one.

    In a figure it is the point at ``x`` of the paper's method ``series``.
    """

    label: str
    method: str | None
    cells: tuple[Cell, ...]
    x: float | None = None
    series: str = "FoRo"

    @property
    def ours(self) -> str | None:
        """The method, with the preset that it was run with if that is not its usual one."""
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
        """What to show of each column: what no row has is left out, but for ours."""
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
    axis: str | None = None  # what a figure's x is
    log_axis: bool = False

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


@dataclass
class Footnotes:
    """Letters for the conditions that cells were measured under, in the order in which they come up."""

    letters: dict[str, str] = field(default_factory=dict)

    def mark(self, cell: Cell) -> str:
        """The letters of a cell's conditions, such as ``a`` or ``a,b``."""
        marks = []
        for text in conditions(cell.sources, cell.told):
            if text not in self.letters:
                self.letters[text] = _letter(len(self.letters))
            marks.append(self.letters[text])
        return ",".join(marks)

    def lines(self) -> list[tuple[str, str]]:
        """Letters with what they stand for; what all of them share comes first, once, without a letter."""
        clauses = [text.split("; ") for text in self.letters]
        alike = takewhile(lambda each: len(set(each)) == 1, zip(*clauses, strict=False))
        shared = [each[0] for each in alike] if len(clauses) > 1 else []
        lines = [
            (letter, "; ".join(each[len(shared) :]))
            for each, letter in zip(clauses, self.letters.values(), strict=True)
        ]
        return [("", f"All of ours: {'; '.join(shared)}"), *lines] if shared else lines


def conditions(records: Sequence[Record], told: str | None = None) -> list[str]:
    """What the runs were run on and with, one sentence for each kind; ``told`` is a setting that needs no mention."""
    from foro.research.studies.paper import BACKBONES

    seeds: dict[str, list[int]] = {}
    for record in records:
        backbone, data = record.content["backbone"], record.content["data"]
        text = f"{backbone['name']} at {backbone['image_size']} px"
        if backbone["name"] not in BACKBONES or backbone["image_size"] != 224:
            text += " instead of the paper's ViT-B/16 at 224 px"
        text += f"; {'' if data['complete'] else 'a subset: '}{data['description']}"
        text += _cut(record)
        text += f"; {data['skipped_images']} images that cannot be decoded left out" if data["skipped_images"] else ""
        if preset := short_preset(record):
            text += f"; {preset} preset: {_changes(record)}"
        settings = {name: value for name, value in overridden(record.content).items() if name not in ("preset", told)}
        text += f"; {settings_text(settings)}" if settings else ""
        notes = {task["learn"]["note"] for task in record.content["tasks"]} - {None}
        text += f"; {notes.pop()}" if len(notes) == 1 else ""
        seeds.setdefault(text, []).append(record.content["seed"])
    return [f"{text}; {_seeds_text(sorted(set(each)))}" for text, each in seeds.items()]


def short_preset(record: Record) -> str | None:
    """The preset of a run that was made shorter than published."""
    preset: str | None = record.content["settings"].get("preset")
    return None if preset == "published" else preset


def _cut(record: Record) -> str:
    """What is special about the stream: tasks of different sizes, or with images of each other's classes."""
    stream = record.content["stream"]
    sizes = {len(task["labels"]) for task in record.content["tasks"]}
    text = f"; tasks of {max(sizes)} to {min(sizes)} classes" if len(sizes) > 1 else ""
    return text + (f"; {100 * stream['blur']:g} % of each class in other tasks" if stream["blur"] else "")


def _changes(record: Record) -> str:
    """What the preset changed, and nothing changed again."""
    try:
        method = find_method(record.content["method"])
    except InputError:  # a method that is not installed here
        return "see the result"
    usual, preset, used = (
        method.resolve({}),
        method.resolve({"preset": short_preset(record)}),
        record.content["settings"],
    )
    changed = {name: value for name, value in preset.items() if value != usual[name] and value == used[name]}
    return settings_text({name: value for name, value in changed.items() if name != "preset"})


def _seeds_text(seeds: list[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def _letter(number: int) -> str:
    """a to z, then aa, ab and so on."""
    letter = ascii_lowercase[number % 26]
    return letter if number < 26 else _letter(number // 26 - 1) + letter
