"""Footnotes: the conditions under which the cells of a table were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from string import ascii_lowercase

from foro.errors import InputError
from foro.research.protocol.method_catalog import find_method
from foro.research.protocol.record import Record
from foro.research.protocol.run_groups import overridden, settings_text, short_preset
from foro.research.studies.paper import BACKBONES
from foro.research.studies.table import Cell


@dataclass
class Footnotes:
    """Letters for the conditions that cells were measured under, in the order in which they come up."""

    letters: dict[str, str] = field(default_factory=dict)

    def mark(self, cell: Cell) -> str:
        """The letters of a cell's conditions, such as ``a`` or ``a,b``."""
        marks = []
        for text in conditions(cell.sources, cell.varied):
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


def conditions(records: Sequence[Record], varied: str | None = None) -> list[str]:
    """What the runs were made on and with, one sentence for each kind; the setting that is ``varied`` is left out."""
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
        settings = {name: value for name, value in overridden(record.content).items() if name not in ("preset", varied)}
        text += f"; {settings_text(settings)}" if settings else ""
        notes = {task["learn"]["note"] for task in record.content["tasks"]} - {None}
        text += f"; {notes.pop()}" if len(notes) == 1 else ""
        seeds.setdefault(text, []).append(record.content["seed"])
    return [f"{text}; {_seeds_text(sorted(set(each)))}" for text, each in seeds.items()]


def _cut(record: Record) -> str:
    """What is special about the stream: tasks of different sizes, or with images of each other's classes."""
    sizes = {len(task["labels"]) for task in record.content["tasks"]}
    text = f"; tasks of {max(sizes)} to {min(sizes)} classes" if len(sizes) > 1 else ""
    blur, imbalance = record.mixing
    text += f"; {100 * blur:g} % of each class in other tasks" if blur else ""
    return text + (f"; the largest class {imbalance:g} times the smallest" if imbalance > 1 else "")


def _changes(record: Record) -> str:
    """What the preset changed and no other setting changed again."""
    try:
        method = find_method(record.content["method"])
    except InputError:  # a method that is not installed here
        return "see the result"
    usual, preset = method.resolve({}), method.resolve({"preset": short_preset(record)})
    used = record.content["settings"]
    changed = {name: value for name, value in preset.items() if value != usual[name] and value == used[name]}
    return settings_text({name: value for name, value in changed.items() if name != "preset"})


def _seeds_text(seeds: list[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def _letter(number: int) -> str:
    """a to z, then aa, ab and so on."""
    letter = ascii_lowercase[number % 26]
    return letter if number < 26 else _letter(number // 26 - 1) + letter
