"""The one family of errors that a user of FoRo can meet: what was wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class FoRoError(Exception):
    """Anything that is wrong with what the user gave, said in one sentence."""


class InputError(FoRoError, ValueError):
    """An array, an image or a label that cannot be learned from or predicted."""


class NeverLearnedError(InputError):
    """Samples that cannot be unlearned: those at some positions, or all together, were never learned."""

    def __init__(self, positions: Sequence[int], names: Sequence[str] | None = None) -> None:
        self.positions = tuple(positions)
        shown = [names[each] if names else f"sample {each}" for each in self.positions[:8]]
        more = [f"{len(self.positions) - 8} more"] if len(self.positions) > 8 else []
        who = " and ".join([", ".join(shown), *more]) or "they"
        verb = "was" if len(self.positions) == 1 else "were"
        super().__init__(f"nothing was unlearned: {who} {verb} never learned, or not with this label")


class DataError(FoRoError):
    """A data set that cannot be found, downloaded, unpacked or read."""


class BackboneError(FoRoError):
    """A checkpoint that cannot be found, read or run."""


class ModelFileError(FoRoError):
    """A model file that is truncated, foreign, from the future, or made for something else."""


class NotSavedError(ModelFileError):
    """A model file that could not be written; what was learned is safe on the disk, in the journal beside it."""


class NothingToUndoError(FoRoError):
    """There is no earlier state of a model that is kept."""


class EngineError(FoRoError):
    """An engine that cannot be started, or that has lost its workers."""


class FoRoWarning(UserWarning):
    """Something the user should know that did not stop the work."""


def first_line(error: Exception) -> str:
    """What another library's error says first, or its name where it says nothing: a part of one sentence."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 image``, ``1,234 images``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest of the known names as the end of a sentence, or nothing."""
    matches = get_close_matches(name, [*known], n=3)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""
