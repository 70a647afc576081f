"""Several model files into one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from foro.durable import DurableLearner
from foro.errors import FoRoWarning, InputError
from foro.learner import Learner
from foro.util.progress import progress_bar


def merge_models(models: Sequence[Path], out: Path, backbone: str | None = None, again: bool = False) -> Learner:
    """Writes the model that would have learned everything that the models have; they are read one at a time.

    Refuses an ``out`` that exists, models that differ in more than what they have learned, and models that share some
    images, unless ``again`` lets these count as often as they were learned.
    """
    if len(models) < 2:
        raise InputError("it takes at least two models to merge")
    if out.exists():
        raise InputError(f"{out} is there already: give the merged model another name")
    merged: Learner | None = None
    with progress_bar("merging", len(models), "models") as advance:
        for path in models:
            other = Learner.load(path, backbone)
            if merged is None:
                merged = other
            elif difference := merged.difference(other):
                raise InputError(
                    f"{models[0]} and {path} cannot be merged: their {difference} differ; "
                    f"a model can be merged with {models[0]} if it was first taught with --like {models[0]}"
                )
            else:
                _merge(merged, other, path, again)
            advance(1)
    assert merged is not None
    whole = merged
    with DurableLearner.open(out, create=lambda: whole, wait=False) as durable:
        if durable.learner is not whole:
            raise InputError(f"{out} is there already: give the merged model another name")
    return whole


def _merge(merged: Learner, other: Learner, path: Path, again: bool) -> None:
    try:
        change = merged.prepare_merge(other, again)
    except InputError as error:
        raise InputError(f"{path} cannot be merged with what comes before it: {error}") from None
    if change is None:
        warnings.warn(f"{path} adds nothing: all of its images are known already", FoRoWarning, stacklevel=3)
    else:
        merged.apply(change)
