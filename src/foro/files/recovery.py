"""A model file and the journal beside it, read as one: everything that was ever acknowledged, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Protocol, TypeVar

import numpy as np

from foro.adaptation.adaptation import Adaptation
from foro.changes import Change, Corrected, Forget, Learn, Merge, Rename, Restore, Unlearn
from foro.errors import ModelFileError
from foro.files import explained, read_model
from foro.files.journal import JournalReader, Record, journal_path
from foro.heads.head import Head, gather
from foro.ledger import Ledger
from foro.types import Arrays, Label

if TYPE_CHECKING:
    from typing_extensions import Self

    from foro.backbones import Backbone

DIGESTS = "digests"
"""Among the arrays of a commit: of all images of the change."""

_ATTEMPTS = 5
"""A writer may save, and start another journal, while a reader is between the journal and the model."""


class Changeable(Protocol):
    """What a journal is replayed to: a learner."""

    adaptation: Adaptation
    ledger: Ledger

    @property
    def head(self) -> Head: ...

    @classmethod
    def from_state(
        cls, arrays: Arrays, metadata: dict[str, Any], path: str | Path, backbone: str | Path | Backbone | None
    ) -> Self: ...

    def state(self) -> tuple[Arrays, dict[str, Any]]: ...

    def apply(self, change: Change) -> object: ...


Kind = TypeVar("Kind", bound=Changeable)


@dataclass(frozen=True)
class Recovery(Generic[Kind]):
    """A learner, and what was found in the journal beside its model file."""

    learner: Kind
    replayed: int = 0  # changes that the model file did not have
    interrupted: bool = False  # one more had begun
    damaged: bool = False  # a part that cannot be read stands before one that could be
    foreign: bool = False  # the journal belongs to another model
    start: int = 0  # where in the journal that begins which counts
    end: int = 0

    def sentences(self, path: Path) -> list[str]:
        """What to tell of it."""
        said = []
        if self.replayed:
            changes = "a change" if self.replayed == 1 else f"{self.replayed} changes"
            said.append(f"{changes} that {'was' if self.replayed == 1 else 'were'} not saved yet came from the journal")
        if self.interrupted:
            said.append(f"{'another' if said else 'a change'} that was interrupted is discarded")
        if self.damaged:
            said.append("a part of the journal is damaged, and what follows it is lost")
        if self.foreign:
            said.append("the journal beside it belongs to another model")
        return [f"{path}: {said[0]}", *said[1:]] if said else []


def recover(
    kind: type[Kind], path: Path, backbone: str | Path | Backbone | None = None, until: int | None = None
) -> Recovery[Kind]:
    """Reads a model and replays its journal; changes no file, and may run while another process writes.

    With ``until``, no change with a higher number is replayed.
    """
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
                replayed = _replay(journal, learner, journal_path(path), until)
                return Recovery(learner, replayed, journal.interrupted, damaged, False, journal.start, journal.end)
    raise AssertionError("unreachable")


def is_damaged(journal: Path) -> bool:
    """Whether something was committed in a journal that cannot be read."""
    with _open(journal) as file:
        return file is not None and JournalReader(file).damaged


def change_record(change: Change, before: Adaptation) -> Record:
    """What a journal says of a change, beside the features, which it has as parts."""
    fields: dict[str, Any] = {"what": type(change).__name__.lower(), "when": change.when}
    if isinstance(change, (Forget, Restore)):
        return Record({**fields, "label": change.label}, {})
    if isinstance(change, Rename):
        return Record({**fields, "label": change.label, "to": change.to}, {})
    if isinstance(change, Merge):
        return Record(fields, {})
    digests: Arrays = {} if change.digests is None else {DIGESTS: change.digests}
    if isinstance(change, Unlearn):
        return Record(fields, digests)
    arrays, settings = change.adaptation.state()
    same = all(getattr(before, each) is getattr(change.adaptation, each) for each in Adaptation.ARRAYS)
    return Record({**fields, "adaptation": {**settings, "same": same}}, digests if same else {**arrays, **digests})


def recorded_change(commit: Record, parts: Callable[[], Iterator[Record]], learner: Changeable) -> Change:
    """The change that ``change_record`` wrote down; memory does not grow with the task."""
    what, when = commit.fields["what"], commit.fields["when"]
    if what == "forget":
        return Forget(commit.fields["label"], when)
    if what == "restore":
        return Restore(commit.fields["label"], when)
    if what == "rename":
        return Rename(commit.fields["label"], commit.fields["to"], when)
    labels: list[Label] = [label for part in parts() if "before" not in part.fields for label in part.fields["labels"]]
    features = (part.arrays["features"] for part in parts() if "before" not in part.fields)
    digests = commit.arrays.get(DIGESTS)
    if what == "unlearn":
        return Unlearn(np.concatenate(list(features)), labels, digests, when)
    settings, before = commit.fields["adaptation"], learner.adaptation
    adaptation = Adaptation.from_state(before.state()[0] if settings["same"] else commit.arrays, settings)
    corrected = [_corrected(part) for part in parts() if "before" in part.fields]
    samples = gather(learner.head, features, labels)
    return Learn(samples, adaptation, None, corrected[0] if corrected else None, digests, when)


def corrected_record(corrected: Corrected) -> Record:
    """What a journal says of samples that have other labels now."""
    return Record({"labels": corrected.labels, "before": corrected.before}, {"features": corrected.features})


def _corrected(part: Record) -> Corrected:
    before = [(int(row), label) for row, label in part.fields["before"]]
    return Corrected(part.arrays["features"], part.fields["labels"], before)


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


def replay_file(journal: Path, learner: Changeable, until: int | None = None) -> None:
    """Makes the changes of a journal again, those that a learner does not have, up to one with this number."""
    with open(journal, "rb") as file:
        _replay(JournalReader(file), learner, journal, until)


def _replay(journal: JournalReader, learner: Changeable, path: Path, until: int | None) -> int:
    replayed = 0
    for number, commit in enumerate(journal.commits()):
        sequence = commit.fields["sequence"]
        if sequence > learner.ledger.sequence and (until is None or sequence <= until):
            learner.ledger.recall(commit.fields.get("measured", []))
            with explained(path):
                change = recorded_change(commit, partial(journal.parts, number), learner)
            before = learner.ledger.places
            learner.apply(change)
            learner.ledger.advance(sequence, before)
            learner.ledger.remember(commit.fields["key"], commit.fields["result"])
            replayed += 1
    return replayed
