"""Earlier states of a model, kept beside it for ``undo``: model files, and the journals that go on from them.

``MODEL.undo`` has ``X.foro``, the model file with the stamp X, and ``X-Y.journal``, the changes that were made to it
until it was written as Y; where one of them is in no journal (a merge, a lesson on a cluster), Y is left out. So an
earlier state is a file that is there, or one that can be made of an older file by its journals, and a number of
changes. A file is a hard link, which takes no time; one is kept where the journals since the last are many, or larger
than it.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from foro.errors import FoRoError, InputError
from foro.files import read_model, write_model
from foro.files.journal import Record, journal_path, read_header
from foro.files.recovery import Kind, recover, replay_file
from foro.ledger import Ledger, Place

if TYPE_CHECKING:
    from foro.backbones import Backbone

LIMIT = "FORO_UNDO_MB"
USUAL_MEGABYTES = 512

MOST_JOURNALS = 8
"""Between two files that are kept: at the end of each, the classifier is solved for, as it was when it was written."""


def undo_limit() -> int:
    """Bytes that the states of a model may take, from the environment."""
    text = os.environ.get(LIMIT, "")
    try:
        megabytes = float(text or USUAL_MEGABYTES)
        if not 0 <= megabytes < float("inf"):
            raise ValueError
    except ValueError:
        raise InputError(f"{LIMIT} is a number of megabytes, not {text!r}") from None
    return int(megabytes * 1e6)


class History:
    """What is kept of a model file; only who may change the model changes it."""

    def __init__(self, model: Path, most_bytes: int) -> None:
        self.model = model
        self.folder = model.with_name(f"{model.name}.undo")
        self.most_bytes = most_bytes

    @property
    def bytes(self) -> int:
        """What it takes on the disk."""
        return sum(each.stat().st_size for each in self._files())

    def left(self, ledger: Ledger) -> int:
        """How many changes can be taken back, one after the other."""
        count, stamps = 0, [stamp for stamp, _ in ledger.before]
        for number in reversed(range(len(stamps))):
            stamp = stamps[number]
            first = number == 0 or stamps[number - 1] != stamp
            if stamp != ledger.stamp and (self._way_to(stamp) is None or not (first or self._journals(stamp))):
                break
            count += 1
        return count

    def state(self, kind: type[Kind], ledger: Ledger, place: Place, backbone: Backbone) -> Kind | None:
        """The learner as it was before a change, or None where that is not kept."""
        stamp, sequence = place
        if stamp == ledger.stamp:
            found = recover(kind, self.model, backbone, until=sequence).learner
            return found if found.ledger.sequence == sequence else None
        way = self._way_to(stamp)
        if way is None:
            return None
        base, journals = way
        learner = kind.from_state(*read_model(base), base, backbone)
        for journal in journals:
            replay_file(journal, learner)
            learner = kind.from_state(*learner.state(), base, backbone)  # as if it had been written and read
            learner.ledger.stamp = _ends(journal)[1]
        for journal in self._journals(stamp):
            replay_file(journal, learner, sequence)
        return learner if (learner.ledger.stamp, learner.ledger.sequence) == place else None

    def keep_file(self, stamp: str, journal_bytes: int, header: Record) -> None:
        """Keeps the model file with this stamp, which is about to be replaced, where nothing leads to it.

        Before there is a file, ``header`` has the learner that knew nothing.
        """
        if not self.most_bytes:
            return
        way = self._way_to(stamp)
        if way and len(way[1]) < MOST_JOURNALS:
            replayed = journal_bytes + sum(each.stat().st_size for each in way[1])
            if replayed <= (self.model.stat().st_size if self.model.exists() else 0):
                return
        kept = self.folder / f"{stamp}.foro"
        with suppress(OSError, FoRoError):  # a change is not refused because it could not be taken back
            self.folder.mkdir(exist_ok=True)
            if not self.model.exists():
                if "model" not in header.fields:  # it was opened with a journal only, which has what that began with
                    header = read_header(journal_path(self.model)) or header
                if "model" in header.fields:
                    write_model(kept, header.arrays, header.fields["model"])
            elif not kept.exists():
                try:
                    os.link(self.model, kept)
                except OSError:  # not every file system has links
                    shutil.copyfile(self.model, kept)

    def keep_journal(self, stamp: str, following: str) -> None:
        """Takes the journal over that goes on from the file with this stamp; it leads to ``following``, if anywhere."""
        if self.most_bytes and self.folder.exists():
            with suppress(OSError):
                os.replace(journal_path(self.model), self.folder / f"{stamp}-{following}.journal")

    def shrink(self, ledger: Ledger) -> None:
        """Removes what no longer leads anywhere, and the oldest of what is too much."""
        if not self.folder.exists():
            return
        stamps = list(dict.fromkeys([*(stamp for stamp, _ in ledger.before), ledger.stamp]))
        if not self.most_bytes:
            stamps = []
        with suppress(OSError):
            while True:
                for path in self._files():
                    if _ends(path)[0] not in stamps or self._way_to(_ends(path)[0]) is None:
                        path.unlink()
                if self.bytes <= self.most_bytes or not stamps:
                    break
                stamps.pop(0)
            if not self._files():
                self.folder.rmdir()

    def _way_to(self, stamp: str) -> tuple[Path, list[Path]] | None:
        """A model file that is kept, and journals that lead from it to the one with this stamp."""
        journals: list[Path] = []
        while not (base := self.folder / f"{stamp}.foro").exists():
            leading = [path for path in self._files() if _ends(path)[1] == stamp]
            if not leading or leading[0] in journals:
                return None
            journals.insert(0, leading[0])
            stamp = _ends(leading[0])[0]
        return base, journals

    def _journals(self, stamp: str) -> list[Path]:
        return [path for path in self._files() if path.suffix == ".journal" and _ends(path)[0] == stamp]

    def _files(self) -> list[Path]:
        return sorted(self.folder.iterdir()) if self.folder.exists() else []


def _ends(path: Path) -> tuple[str, str]:
    """The stamps that a journal leads from and to; of a model file, its own and none."""
    before, _, after = path.stem.partition("-")
    return before, after
