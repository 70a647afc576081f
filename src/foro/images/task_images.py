"""The images of one task, which remember where in the data set they are, so that their features can be looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from foro.images.load import ImageSource
from foro.images.samples import Samples
from foro.types import Label


class TaskImages(Sequence[ImageSource]):
    """Images of ``samples`` at some positions: a sequence like any other to a learner, decoded when used."""

    def __init__(self, samples: Samples, positions: NDArray[np.intp]) -> None:
        self.samples = samples
        self.positions = positions

    @property
    def labels(self) -> list[Label]:
        """Their labels, in the same order."""
        return [self.samples.labels[position] for position in self.positions]

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, index: int) -> ImageSource: ...
    @overload
    def __getitem__(self, index: slice) -> TaskImages: ...
    def __getitem__(self, index: int | slice) -> ImageSource | TaskImages:
        if isinstance(index, slice):
            return TaskImages(self.samples, self.positions[index])
        image: ImageSource = self.samples.images[int(self.positions[index])]
        return image
