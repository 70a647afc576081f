"""A model file and the journal beside it, read as one: everything that was ever acknowledged, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from foro.adaptation.adaptation import Adaptation
from foro.backbones import Backbone
from foro.errors import ModelFileError
from foro.files import read_model
from foro.files.journal import JournalReader, Record, journal_path
from foro.ledger import Event
from foro.types import Arrays, Label

if TYPE_CHECKING:
    from foro.learner import Learner

_ATTEMPTS = 5
"""A writer may save, and start another journal, while a reader is between the journal and the model."""


@dataclass(frozen=True)
class Recovery:
    """A learner, and what was found in the journal beside its model file."""

    learner: Learner
    replayed: int = 0  # changes that the model file did not have
    interrupted: bool = False  # one more had begun
    damaged: bool = False  # a part that cannot be read stands before one that could be
    foreign: bool = False  # the journal belongs to another model
    start: int = 0  # where in the journal that begins which counts
    end: int = 0


def recover(kind: type[Learner], path: Path, backbone: str | Path | Backbone | None = None) -> Recovery:
    """Reads a model and replays its journal; changes no file, and may run while another process writes."""
    for attempt in range(_ATTEMPTS):
        # The journal first: what it loses from now on is in the model file.
        with _open(journal_path(path)) as file:
            journal = JournalReader(file) if file else None
            unusable = journal is not None and journal.header is None
            damaged = journal is not None and journal.damaged
            if unusable:
                journal = None
            arrays, metadata = _model(path, journal)
            fits = journal is None or _fits(journal, metadata)
            if fits or attempt == _ATTEMPTS - 1:
                learner = kind.from_state(arrays, metadata, path, backbone)
                if journal is None or not fits:
                    return Recovery(learner, damaged=damaged, foreign=not fits)
                replayed = _replay(journal, learner)
                return Recovery(learner, replayed, journal.interrupted, damaged, False, journal.start, journal.end)
    raise AssertionError("unreachable")


def is_damaged(journal: Path) -> bool:
    """Whether something was committed in a journal that cannot be read."""
    with _open(journal) as file:
        return file is not None and JournalReader(file).damaged


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO | None]:
    try:
        file = open(path, "rb")  # noqa: SIM115  closed below
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from None
    with file:
        yield file


def _model(path: Path, journal: JournalReader | None) -> tuple[Arrays, dict[str, Any]]:
    """The state that the journal starts from: the model file or, before there was one, the head of the journal."""
    if not path.exists() and journal is not None and len(journal):
        assert journal.header is not None
        if "model" in journal.header.fields:
            return journal.header.arrays, journal.header.fields["model"]
    return read_model(path)


def _fits(journal: JournalReader, metadata: dict[str, Any]) -> bool:
    """Whether the journal goes on from the model, or from what the model replaced when it was last written."""
    assert journal.header is not None
    ledger = metadata.get("ledger", {})
    return journal.header.fields["stamp"] in (ledger.get("stamp"), ledger.get("previous"))


def _replay(journal: JournalReader, learner: Learner) -> int:
    replayed = 0
    for number, commit in enumerate(journal.commits()):
        if commit.fields["sequence"] > learner.ledger.sequence:
            _apply(commit, partial(journal.parts, number), learner)
            learner.ledger.sequence = commit.fields["sequence"]
            learner.ledger.remember(commit.fields["key"], commit.fields["result"])
            replayed += 1
    return replayed


def _apply(commit: Record, parts: Callable[[], Iterator[Record]], learner: Learner) -> None:
    """Makes one change as it was made before the crash, from what was written down."""
    what, when = commit.fields["what"], commit.fields["when"]
    if what == "learn":
        _learn(commit, parts, learner)
    elif what == "unlearn":
        listed = list(parts())
        names = [label for part in listed for label in part.fields["labels"]]
        learner._unlearn(np.concatenate([part.arrays["features"] for part in listed]), names, when)
    elif what == "forget":
        learner._forget(commit.fields["label"], when)
    else:
        learner._restore(commit.fields["label"], when)


def _learn(commit: Record, parts: Callable[[], Iterator[Record]], learner: Learner) -> None:
    """Absorbs features in the very steps in which they were absorbed first; memory does not grow with the task."""
    from foro.learner import gather

    counts: Counter[Label] = Counter()
    for held_out in (False, True):
        names = [label for part in parts() if part.fields["held_out"] == held_out for label in part.fields["labels"]]
        if names:
            mine = (part.arrays["features"] for part in parts() if part.fields["held_out"] == held_out)
            gather(learner.encoder, mine, names)()
        counts.update(names)
    learner._adaptation = adaptation_of(commit, learner._adaptation)
    learner.ledger.add(Event.of("learn", counts, commit.fields["when"]), counts)


def adaptation_fields(before: Adaptation, after: Adaptation) -> tuple[dict[str, Any], Arrays]:
    """What a record says of how a lesson adapted the prompt; arrays only if they have changed."""
    arrays, settings = after.state()
    same = all(getattr(before, name) is getattr(after, name) for name in ("prompt", "history", "distribution"))
    return {"adaptation": {**settings, "same": same}}, {} if same else dict(arrays)


def adaptation_of(commit: Record, before: Adaptation) -> Adaptation:
    """The adaptation that ``adaptation_fields`` wrote down."""
    settings = commit.fields["adaptation"]
    return Adaptation.from_state(before.state()[0] if settings["same"] else commit.arrays, settings)
