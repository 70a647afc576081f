"""Runs that differ only in their seed: their mean and deviation, and what they are called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError
from foro.research.methods.method import Settings
from foro.research.protocol.method_catalog import find_method
from foro.research.protocol.record import Record
from foro.research.protocol.spec import tasks_text


@dataclass(frozen=True)
class Mean:
    """A mean and sample standard deviation over ``seeds`` runs; None where there is one run or it is not stated."""

    mean: float
    deviation: float | None = None
    seeds: int | None = None

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Mean | None:
        """The mean of one number for each seed; None if there is none."""
        if not numbers:
            return None
        deviation = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
        return cls(float(np.mean(numbers)), deviation, len(numbers))

    def text(self, digits: int = 1) -> str:
        """``87.7 ± 0.83``."""
        spread = "" if self.deviation is None else f" ± {self.deviation:,.{digits + 1}f}"
        return f"{self.mean:,.{digits}f}{spread}".replace("-", "−")


@dataclass(frozen=True)
class Group:
    """Runs of one method on one stream of one data set with one backbone, for some seeds."""

    records: tuple[Record, ...]

    @property
    def first(self) -> dict[str, Any]:
        """What all of them have in common is in the first."""
        return self.records[0].content

    @property
    def tasks(self) -> str:
        """T, or the classes of each task."""
        return tasks_text(self.records[0].tasks)

    @property
    def stream(self) -> str:
        """How the classes were cut into tasks, and what came in others."""
        stream = self.first["stream"]["description"].removeprefix(f"{self.first['data']['description']}; ")
        return re.sub(r", class order from seed \d+", "", stream)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """The mean accuracy matrix (T, T)."""
        matrix: NDArray[np.float64] = np.mean([record.accuracy for record in self.records], axis=0)
        return matrix

    def percent(self, metric: str) -> Mean:
        """A metric over the seeds, in percent."""
        value = percent(self.records, metric)
        assert value is not None
        return value

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A_j in percent after each task j (T,): its mean and its standard deviation over the seeds."""
        curves = [100 * np.nanmean(record.accuracy, axis=1) for record in self.records]
        return np.mean(curves, axis=0), np.std(curves, axis=0, ddof=1) if len(curves) > 1 else np.zeros(len(curves[0]))


def percent(records: Iterable[Record], metric: str) -> Mean | None:
    """A metric of runs in percent."""
    return Mean.of([100 * record.results[metric] for record in records])


def paired(records: Iterable[Record], others: Iterable[Record]) -> Mean | None:
    """How far A is above that of other runs with the same seeds, in points; the deviation is the mean's own error."""
    before = {record.content["seed"]: record.results["average_accuracy"] for record in others}
    pairs = [record for record in records if record.content["seed"] in before]
    gain = Mean.of([100 * (each.results["average_accuracy"] - before[each.content["seed"]]) for each in pairs])
    if gain is None or gain.deviation is None:
        return gain
    return Mean(gain.mean, gain.deviation / len(pairs) ** 0.5, len(pairs))


def titles(groups: Sequence[Group]) -> tuple[list[str], str]:
    """A name for each group, its method and overridden settings, and separately the settings that all share."""
    changed = [overridden(group.first) for group in groups]
    shared = {name: value for name, value in changed[0].items() if all(each.get(name) == value for each in changed)}
    names = []
    for group, settings in zip(groups, changed, strict=True):
        own = settings_text({name: value for name, value in settings.items() if name not in shared})
        names.append(f"{group.first['method']} ({own})" if own else str(group.first["method"]))
    return names, settings_text(shared)


def settings_text(settings: Settings) -> str:
    """``population = 4, generations = 10``; a preset is ``fast preset``."""
    return ", ".join(f"{value} preset" if name == "preset" else f"{name} = {value}" for name, value in settings.items())


def overridden(content: dict[str, Any]) -> Settings:
    """The settings in which a run differs from the method's own, however they were given.

    A preset stands for all that it changes.
    """
    settings = content["settings"]
    preset = {name: settings[name] for name in ("preset",) if name in settings}
    try:
        method = find_method(content["method"])
        usual = {**method.resolve(preset), **{name: method.resolve({})[name] for name in preset}}
    except InputError:  # a method that is not installed here
        return dict(content["overrides"])
    return {name: value for name, value in settings.items() if usual.get(name) != value}


def short_preset(record: Record) -> str | None:
    """The preset of a run that was made shorter than published."""
    preset: str | None = record.content["settings"].get("preset")
    return None if preset == "published" else preset


def grouped(records: Sequence[Record]) -> list[Group]:
    """Groups in the order of their first records, seeds ascending."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        content = record.content
        key = [content["method"], content["settings"], content["data"]["fingerprint"], content["stream"]["tasks"]]
        key += [*record.mixing, content["backbone"]["fingerprint"], content["backbone"]["image_size"]]
        groups.setdefault(json.dumps(key, sort_keys=True), []).append(record)
    return [Group(tuple(sorted(group, key=lambda record: record.content["seed"]))) for group in groups.values()]


def to_json(group: Group) -> dict[str, Any]:
    """A group as the command line prints it with ``--json``."""
    first = group.first
    return {
        "dataset": first["data"]["name"],
        "data": first["data"]["description"],
        "tasks": first["stream"]["tasks"],
        "stream": group.stream,
        "skipped_images": first["data"]["skipped_images"],
        "method": first["method"],
        "overrides": dict(overridden(first)),
        "backbone": first["backbone"]["name"],
        "image_size": first["backbone"]["image_size"],
        "seeds": [record.content["seed"] for record in group.records],
        "results": [record.results for record in group.records],
        "files": [str(record.path) for record in group.records],
    }
