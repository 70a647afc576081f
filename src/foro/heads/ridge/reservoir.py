"""A few hundred samples, kept to tell how sure the classifier may be of what it says.

They are never learned from again. Which ones are kept depends on the samples alone: those whose hashes are the
smallest, so that neither their order nor their cut into batches matters, and that reservoirs can be merged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.heads.copies import find_copies
from foro.types import Float64, Label

CAPACITY = 512
EVERYTHING = 2**64
"""Bound of a reservoir that has not been full yet: larger than any hash."""
SAME = 1e-4
"""Relative difference below which two samples are one image that went through the backbone in different batches."""
_AT_ONCE = 1024
"""Samples that are rounded together."""


class Reservoir:
    """All distinct samples whose hash is below ``bound``, at most ``CAPACITY`` of them, in the order of their hashes.

    The bound is lowered to make room and never raised: otherwise what comes after a removal would be kept with a higher
    chance than what came before. So a reservoir shrinks with every sample or label that is taken out of it.
    """

    def __init__(self, width: int) -> None:
        self.bound = EVERYTHING
        self.features: Float64 = np.zeros((0, width))
        self.labels: list[Label] = []
        self.counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # of equal samples
        self.hashes: list[int] = []
        self._copies: tuple[Float64, list[list[int]]] | None = None  # with the features that they are of

    def __len__(self) -> int:
        return len(self.labels)

    def add(self, features: Float64, labels: list[Label]) -> None:
        """Considers samples (n, d) with their labels."""
        for start in range(0, len(labels), _AT_ONCE):
            part, names = features[start : start + _AT_ONCE], labels[start : start + _AT_ONCE]
            self._add(part, names, np.ones(len(names), dtype=np.int64), sample_hashes(part, names))

    def merge(self, other: Reservoir) -> None:
        """Adds another reservoir: the one of all samples that either has seen."""
        self.bound = min(self.bound, other.bound)
        self._keep(number for number, each in enumerate(self.hashes) if each < self.bound)
        self._add(other.features, other.labels, other.counts, other.hashes)

    def remove(self, features: Float64, labels: list[Label]) -> None:
        """Takes samples out again, also where the backbone rounded them a little differently this time."""
        for sample, label in zip(features, labels, strict=True):
            mine = [number for number, each in enumerate(self.labels) if each == label and self.counts[number]]
            if mine:
                distances = np.abs(self.features[mine] - sample).max(axis=1)
                if distances.min() <= SAME * np.abs(sample).max():
                    self.counts[mine[int(distances.argmin())]] -= 1
        self._keep(np.flatnonzero(self.counts).tolist())

    def drop(self, label: Label) -> Reservoir:
        """Takes all samples of a label out, and returns them: merging them puts them back."""
        taken = Reservoir(self.features.shape[1])
        for name in ("features", "labels", "counts", "hashes"):
            setattr(taken, name, getattr(self, name))
        taken._keep(number for number, each in enumerate(self.labels) if each == label)
        self._keep(number for number, each in enumerate(self.labels) if each != label)
        return taken

    def copies(self) -> list[list[int]]:
        """For each sample, itself and up to three others that are copies of it, the nearest first.

        An image that was resized or encoded again is a copy: a classifier that has seen one has seen the other. Equal
        samples are one here, with a count. Only copies that are in the reservoir are found.
        """
        if self._copies is None or self._copies[0] is not self.features:
            self._copies = self.features, find_copies(self.features)
        return self._copies[1]

    def distinct_share(self) -> float:
        """The share of all samples that is left where copies count as one, as far as they are in the reservoir."""
        together = np.array([self.counts[group].sum() for group in self.copies()], dtype=np.float64)
        if not len(together) or (together == 1).all():
            return 1.0
        return float((self.counts / together).sum() / self.counts.sum())

    def renamed(self, names: Mapping[Label, Label]) -> Reservoir:
        """The same samples under other labels; a label that ``names`` does not have stays."""
        labels = [names.get(label, label) for label in self.labels]
        if labels == self.labels:
            return self
        renamed = Reservoir(self.features.shape[1])
        renamed.bound = self.bound
        renamed._add(self.features, labels, self.counts, sample_hashes(self.features, labels))
        return renamed

    def state(self, labels: list[Label]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What to store, for the encoder's ``labels``."""
        arrays = {
            "features": exact_single(self.features),
            "classes": np.array([labels.index(label) for label in self.labels], dtype=np.int64),
            "counts": self.counts,
        }
        return arrays, {"bound": self.bound}

    @classmethod
    def from_state(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any], labels: list[Label]) -> Reservoir:
        """The reservoir whose ``state`` this is."""
        reservoir = cls(arrays["features"].shape[1])
        reservoir.bound = int(settings["bound"])
        reservoir.features = arrays["features"].astype(np.float64)
        reservoir.labels = [labels[number] for number in arrays["classes"]]
        reservoir.counts = arrays["counts"].copy()
        reservoir.hashes = sample_hashes(reservoir.features, reservoir.labels)
        return reservoir

    def _add(self, features: Float64, labels: list[Label], counts: NDArray[np.int64], hashes: list[int]) -> None:
        places = {each: number for number, each in enumerate(self.hashes)}
        new: dict[int, int] = {}  # hash → position among the arguments
        more: dict[int, int] = {}
        for position, each in enumerate(hashes):
            if each >= self.bound:
                continue
            if each in places:
                self.counts[places[each]] += counts[position]
            else:
                new.setdefault(each, position)
                more[each] = more.get(each, 0) + int(counts[position])
        if not new:
            return
        chosen = list(new.values())
        self.features = np.concatenate([self.features, features[chosen]])
        self.labels += [labels[position] for position in chosen]
        self.counts = np.concatenate([self.counts, np.array(list(more.values()), dtype=np.int64)])
        self.hashes += list(new)
        order = sorted(range(len(self)), key=self.hashes.__getitem__)
        if len(self) > CAPACITY:
            self.bound = self.hashes[order[CAPACITY]]
        self._keep(order[:CAPACITY])

    def _keep(self, numbers: Iterable[int]) -> None:
        kept = list(numbers)
        self.features, self.counts = self.features[kept], self.counts[kept]
        self.labels = [self.labels[number] for number in kept]
        self.hashes = [self.hashes[number] for number in kept]


def exact_single(features: Float64) -> NDArray[Any]:
    """Features in single precision where that loses nothing, which is so for those of a backbone."""
    single = features.astype(np.float32)
    return single if np.array_equal(single, features) else features


def sample_hashes(features: Float64, labels: list[Label]) -> list[int]:
    """64-bit hashes of samples (n, d) with their labels, which do not see the last digits of the features.

    Direction and length are rounded first, finely enough to tell any two images apart: a backbone in single precision
    gives the same image other last digits in another batch.
    """
    width = features.shape[1]
    steps = 2.0 ** min(max(2, -(-128 // width)), 20)  # 128 bits in all, and 2 at least for each feature
    lengths = np.sqrt((features**2).mean(axis=1, keepdims=True))
    safe = np.where(lengths > 0, lengths, 1.0)
    rounded = np.rint(np.concatenate([features / safe, np.log(safe)], axis=1) * steps).astype("<i4")
    names = {label: json.dumps(label).encode() for label in dict.fromkeys(labels)}
    return [
        int.from_bytes(hashlib.blake2b(row.tobytes() + names[label], digest_size=8).digest(), "little")
        for row, label in zip(rounded, labels, strict=True)
    ]
