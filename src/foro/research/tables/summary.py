"""Runs that differ in nothing but their seed, together."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError
from foro.research.methods.method import Settings, find_method
from foro.research.protocol.record import Record
from foro.research.protocol.spec import tasks_text
from foro.research.tables.value import Value


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
        tasks = self.first["stream"]["tasks"]
        return tasks_text(tasks if isinstance(tasks, int) else tuple(tasks))

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

    def percent(self, metric: str) -> Value:
        """A metric over the seeds, in percent."""
        value = Value.of([100 * record.results[metric] for record in self.records])
        assert value is not None
        return value

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A_j in percent after each task j (T,): its mean and its standard deviation over the seeds."""
        curves = [100 * np.nanmean(record.accuracy, axis=1) for record in self.records]
        return np.mean(curves, axis=0), np.std(curves, axis=0, ddof=1) if len(curves) > 1 else np.zeros(len(curves[0]))


def titles(groups: Sequence[Group]) -> tuple[list[str], str]:
    """A name for each group: its method, and the settings that were overridden; those that all share come apart."""
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


def grouped(records: Sequence[Record]) -> list[Group]:
    """Groups in the order of their first records, seeds ascending."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        content = record.content
        key = [content["method"], content["settings"], content["data"]["fingerprint"], content["stream"]["tasks"]]
        key += [content["stream"]["blur"], content["backbone"]["fingerprint"], content["backbone"]["image_size"]]
        groups.setdefault(json.dumps(key, sort_keys=True), []).append(record)
    return [Group(tuple(sorted(group, key=lambda record: record.content["seed"]))) for group in groups.values()]


def to_json(group: Group) -> dict[str, Any]:
    """What a program wants to know of a group."""
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
