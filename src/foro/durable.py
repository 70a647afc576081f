"""A learner together with its model file: whatever was acknowledged survives a crash."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from foro.backbones import Backbone
from foro.changes import Change, Forget, Restore
from foro.errors import FoRoWarning, InputError, ModelFileError, NothingToUndoError, NotSavedError
from foro.files import write_model
from foro.files.factor_file import keep_factor, offer_factor
from foro.files.history import History, undo_limit
from foro.files.journal import Group, JournalWriter, Record, copied_aside, journal_path
from foro.files.recovery import Recovery, change_record, corrected_record, is_damaged, recover
from foro.files.thumbnails import Thumbnails
from foro.images.load import Images
from foro.learner import Learner
from foro.ledger import Event, now
from foro.preparation import LearnReport
from foro.types import Float32, Label
from foro.util.atomic_files import remove_leftovers
from foro.util.interrupts import uninterrupted
from foro.util.lock import locked

Facts = dict[str, Any] | None
LONGEST_KEY = 200

MOST_JOURNAL = 64 * 2**20
"""Bytes of the journal from which on the model file is better written, even while there is more to learn."""


class DurableLearner:
    """A learner and its model file: what was acknowledged survives a crash.

    Every change is on the disk when its call returns, in a journal beside the model file (``MODEL.journal``), which
    costs little. ``save`` then writes the model file and empties the journal; leaving a ``with`` block does so too.
    Only one process at a time can have a model open like this. Readers use ``Learner.load`` at any time.

    A change that fails or is interrupted is as if it had never been asked for. One with a ``key`` is made only once:
    asked for again, it does nothing and returns what it returned the first time.

    One thread makes changes. Others may predict meanwhile, with what ``learner.snapshot()`` gave that one thread.

    Examples
    --------
    >>> from foro import Learner
    >>> with DurableLearner.open("pets.foro", create=lambda: Learner("nano")) as pets:
    ...     report = pets.learn(["tom.jpg", "rex.jpg"], ["cat", "dog"])
    ...     pets.forget("dog")
    ...     pets.restore("dog")
    """

    learner: Learner
    """What is known now, for reading: predict, labels, …"""

    recovered: str | None
    """One sentence on what opening found and finished or discarded, or None."""

    def __init__(self, path: Path, learner: Learner, journal: JournalWriter, resources: ExitStack) -> None:
        self.path = path
        self.learner = learner
        self.recovered = None
        self._journal = journal
        self._resources = resources
        self._unsaved = False
        self._closed = False
        self._history = History(path, undo_limit())
        self.thumbnails = Thumbnails(path)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: Callable[[], Learner] | None = None,
        backbone: str | Path | Backbone | None = None,
        wait: bool = True,
        waiting: Callable[[], None] | None = None,
    ) -> DurableLearner:
        """Opens a model for changes, and finishes what a crash has left.

        Parameters
        ----------
        path
            The model file.
        create
            Makes the learner if there is no model yet. The file is written by the first ``save``.
        backbone
            Where the model's backbone is, if not where it was.
        wait
            Whether to wait for another process that has the model open, or to refuse at once.
        waiting
            Is called once if it has to wait.
        """
        path = Path(path)
        journal = journal_path(path)
        if path.is_dir():
            raise ModelFileError(f"{path} is a folder, not a model file")
        made = None
        if not path.exists() and not journal.exists():
            if create is None:
                raise ModelFileError(f"there is no file {path}")
            made = create()  # before anything is on the disk: it may fail
        with ExitStack() as resources:
            lock = path.with_name(f"{path.name}.lock")
            held = resources.enter_context(locked(lock, wait=False, tidy=True))
            if not held and wait:
                if waiting is not None:
                    waiting()
                held = resources.enter_context(locked(lock, tidy=True))
            if not held:
                raise ModelFileError(f"{path} is being changed by another process: try again when that has finished")
            remove_leftovers(path)
            durable = cls._opened(path, made, create, backbone, resources)
            durable._resources = resources.pop_all()
            return durable

    @classmethod
    def _opened(
        cls,
        path: Path,
        made: Learner | None,
        create: Callable[[], Learner] | None,
        backbone: str | Path | Backbone | None,
        resources: ExitStack,
    ) -> DurableLearner:
        journal = journal_path(path)
        found: Recovery[Learner] | None = None
        said: list[str] = []
        try:
            found = recover(Learner, path, backbone)
            learner, new, said = found.learner, not path.exists(), found.sentences(path)
        except ModelFileError:
            if create is None or path.exists():
                raise
            learner, new = made or create(), True
            if journal.exists():
                said = [f"{path}: a change that was interrupted is discarded"]
                if is_damaged(journal):
                    said.append(f"{copied_aside(journal)} has what could not be used")
        damaged = found is not None and found.damaged
        if damaged or (found is not None and found.foreign):
            said.append(f"{copied_aside(journal)} has what could not be used")
        # A journal of which the model file has everything already is removed, as the save would have done.
        start, end = (found.start, found.end) if found is not None and found.replayed else (0, 0)
        durable = cls(path, learner, JournalWriter(journal, _header(learner, new), start, end), resources)
        resources.callback(durable._journal.close)
        durable.recovered = "; ".join(said) or None
        durable.thumbnails.sweep(learner.known)  # a crash may have come between
        offer_factor(path, learner.head)
        filled = new and learner.head.samples > 0
        durable._unsaved = filled or (found is not None and found.replayed > 0)
        if damaged or filled:
            durable.save()  # a journal goes on from a model file, or from a learner that knows nothing
        elif end == start:
            journal.unlink(missing_ok=True)
        return durable

    @property
    def journal_bytes(self) -> int:
        """How much has been written down since the last ``save``: what the next ``open`` would have to replay."""
        return self._journal.size

    def learn(
        self,
        images: Images,
        labels: Sequence[Label],
        *,
        key: str | None = None,
        held_out: float = 0.0,
        again: bool = False,
        relabel: bool = False,
        facts: Callable[[LearnReport], dict[str, Any]] | None = None,
    ) -> LearnReport:
        """Learns a task, or any part of one, as ``Learner.learn`` does; it cannot be lost once this returns.

        What ``facts`` says of the report, JSON-ready, is kept with the key: ``seen`` returns it too.
        """
        if (done := self._done(key, "learn")) is not None:
            return LearnReport.from_dict(done["report"])
        start = time.perf_counter()
        with self._journal.group() as group:
            change, report = self.learner.prepare(
                images, labels, held_out, partial(_write_part, group), again=again, relabel=relabel
            )
            result = {"what": "learn", "report": report.as_dict(), "facts": facts(report) if facts else {}}
            if change is None:  # if this is lost in a crash, all images are still known
                self.learner.ledger.remember(key, {**result, "when": now()})
                return report
            result["when"] = change.when
            if change.corrected is not None:
                record = corrected_record(change.corrected)
                group.add(record.fields, record.arrays)
            # From an engine that learns elsewhere only statistics come: writing these is writing the model.
            accuracy = self._make(change, key, result, None if self.learner.engine else group)
        report = replace(report, accuracy_after=accuracy, seconds=time.perf_counter() - start)
        if key is not None:
            self.learner.ledger.remember(key, {**result, "report": report.as_dict()})
        if report.note:
            warnings.warn(report.note, FoRoWarning, stacklevel=2)
        return report

    def unlearn(self, images: Images, labels: Sequence[Label], *, key: str | None = None, facts: Facts = None) -> None:
        """Takes the influence of these very images back, exactly, as ``Learner.unlearn`` does.

        ``facts`` are kept with the key: see ``seen``.
        """
        if self._done(key, "unlearn") is not None:
            return
        change = self.learner.prepare_unlearn(images, labels)
        result = {"what": "unlearn", "when": change.when, "samples": len(change.labels), "facts": facts or {}}
        with self._journal.group() as group:
            _write_part(group, change.features, change.labels)
            self._make(change, key, result, group)
        self.thumbnails.sweep(self.learner.known)

    def forget(self, label: Label, *, key: str | None = None) -> None:
        """Never predicts the label again, as ``Learner.forget`` does."""
        self._about(Forget, label, key)

    def restore(self, label: Label, *, key: str | None = None) -> None:
        """Takes ``forget`` back, as if it had never been asked for."""
        self._about(Restore, label, key)

    def rename(self, label: Label, to: Label, *, key: str | None = None) -> None:
        """Calls a label something else, or makes it one with another, as ``Learner.rename`` does."""
        if self._done(key, "rename") is not None:
            return
        change = self.learner.prepare_rename(label, to)
        result = {"what": "rename", "when": change.when, "label": change.label, "to": change.to}
        with self._journal.group() as group:
            self._make(change, key, result, group)

    def merge(self, other: Learner, *, key: str | None = None, again: bool = False, facts: Facts = None) -> int:
        """Adds everything that another learner knows, as ``Learner.merge`` does, and saves at once.

        Writing its statistics into the journal would take as long. ``facts`` are kept with the key: see ``seen``.
        """
        if (done := self._done(key, "merge")) is not None:
            return int(done["samples"])
        change = self.learner.prepare_merge(other, again)
        if change is None:
            self.learner.ledger.remember(key, {"what": "merge", "when": now(), "samples": 0, "facts": facts or {}})
            return 0
        added = other.head.samples - (self.learner.head.samples if change.whole else 0)
        self._make(change, key, {"what": "merge", "when": change.when, "samples": added, "facts": facts or {}}, None)
        return added

    def undo(self, *, key: str | None = None) -> Event:
        """Takes the last change back, whatever it was, and saves: everything is as it was before. Returns the change.

        Asked for again, it takes the one before back, as far as earlier states are kept: ``undo_left`` says how many.
        """
        if (done := self._done(key, "undo")) is not None:
            return Event.from_dict(done["event"])
        now_known, ledger, earlier = self.learner, self.learner.ledger, None
        if ledger.before:
            earlier = self._history.state(Learner, ledger, ledger.before[-1], now_known.backbone)
        if earlier is None:
            raise NothingToUndoError(f"{self.path} has no change left that can be taken back")
        undone = ledger.events[-1]
        earlier.source, earlier.engine = now_known.source, now_known.engine
        earlier.ledger.stamp, earlier.ledger.previous = ledger.stamp, ledger.previous
        earlier.ledger.sequence = ledger.sequence + 1  # no number is used twice
        earlier.ledger.remember(key, {"what": "undo", "when": now(), "event": asdict(undone)})
        with uninterrupted(), self._both_or_none(None):
            self.learner = earlier
            self._save(journalled=False)
        self.thumbnails.sweep(self.learner.known)
        return undone

    @property
    def undo_left(self) -> int:
        """How many changes ``undo`` can take back, one after the other."""
        return self._history.left(self.learner.ledger)

    def seen(self, key: str) -> dict[str, Any] | None:
        """What came of the change with this key: ``what`` and ``when``, of ``learn`` its ``report``; None: not made."""
        return self.learner.ledger.keys.get(key)

    def save(self) -> None:
        """Writes the model file, atomically, and empties the journal; a crash between the two counts nothing twice."""
        try:
            self._save()
        except ModelFileError as error:
            if not self._journal.size:
                raise
            safe = f"what was learned is safe in {self._journal.path} and counts: there is no need to repeat it"
            raise NotSavedError(f"{error}; {safe}") from None

    def _save(self, journalled: bool = True) -> None:
        """``journalled``: the journal leads from the file that is there to the one that is written."""
        self._check_open()
        arrays, metadata = self.learner.state()
        ledger, stamp = self.learner.ledger, metadata["ledger"]["stamp"]
        self._history.keep_file(ledger.stamp, self._journal.size, self._journal.header)
        write_model(self.path, arrays, metadata)
        ledger.previous, ledger.stamp = ledger.stamp, stamp
        self._unsaved = False
        if self._journal.size:
            self._history.keep_journal(ledger.previous, stamp if journalled else "")
        self._journal.restart(_header(self.learner, new=False))
        self._history.shrink(ledger)

    def close(self) -> None:
        """Lets other processes open the model. What was not saved is in the journal, where the next one finds it."""
        self._closed = True
        self._resources.close()

    def __enter__(self) -> DurableLearner:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        try:
            if kind is None and (self._unsaved or self._journal.size):
                self.save()
                keep_factor(self.path, self.learner.head)
        finally:
            self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ModelFileError(f"{self.path} was closed: open it again to change it")

    def _about(self, kind: type[Forget | Restore], label: Label, key: str | None) -> None:
        """Forgets or restores a label."""
        what = kind.__name__.lower()
        if self._done(key, what) is not None:
            return
        change = kind(self.learner.head.known_as([label])[0])
        with self._journal.group() as group:
            self._make(change, key, {"what": what, "when": change.when, "label": change.label}, group)

    def _done(self, key: str | None, what: str) -> dict[str, Any] | None:
        """What came of this very change, if it was made before."""
        self._check_open()
        if key is None:
            return None
        if not isinstance(key, str) or not 1 <= len(key) <= LONGEST_KEY:
            raise InputError(f"a key must be a text of 1 to {LONGEST_KEY} characters, not {key!r}")
        done = self.seen(key)
        if done is not None and done["what"] != what:
            raise InputError(f"the key {key!r} was used before, to {done['what']}: take another one to {what}")
        return done

    def _make(self, change: Change, key: str | None, result: dict[str, Any], group: Group | None) -> float | None:
        """Makes a change in memory and on the disk, or in neither: through the journal, or by saving at once.

        Memory comes first, for only that tells whether the change can be made.
        """
        sequence, before = self.learner.ledger.sequence + 1, self.learner.adaptation
        with uninterrupted(), self._both_or_none(group):
            places = self.learner.ledger.places
            accuracy = self.learner.apply(change)
            self.learner.ledger.advance(sequence, places)
            self.learner.ledger.remember(key, result)
            self._unsaved = True
            if group is None:
                self._save(journalled=False)
            else:
                record, last = change_record(change, before), self.learner.ledger.measured[-1:]
                fields = {"sequence": sequence, "key": key, "result": result, "measured": last, **record.fields}
                group.commit(fields, record.arrays)
        return accuracy

    @contextmanager
    def _both_or_none(self, group: Group | None) -> Iterator[None]:
        """Memory and disk say the same: if either step fails, the learner is read again from the disk."""
        try:
            yield
        except BaseException:
            if group is not None:
                group.discard()
            source, backbone, engine = self.learner.source, self.learner.backbone, self.learner.engine
            if self.path.exists() or self._journal.size:
                self.learner = recover(Learner, self.path, backbone).learner
            else:
                header = self._journal.header
                self.learner = Learner.from_state(header.arrays, header.fields["model"], self.path, backbone)
            self.learner.source, self.learner.engine = source, engine
            raise


def _write_part(group: Group, features: Float32, labels: list[Label]) -> None:
    group.add({"labels": labels}, {"features": features})


def _header(learner: Learner, new: bool) -> Record:
    """What a journal starts from; without a model file, the learner itself, which has learned nothing yet."""
    fields = {"stamp": learner.ledger.stamp, "sequence": learner.ledger.sequence}
    if not new or learner.head.samples:
        return Record(fields, {})
    arrays, metadata = learner.state()
    metadata["ledger"] |= {"stamp": learner.ledger.stamp, "previous": learner.ledger.previous}
    return Record({**fields, "model": metadata}, arrays)
