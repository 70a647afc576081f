"""Where images become statistics: in this process, or elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from foro.errors import InputError
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.heads.ridge import KnowledgeEncoder
from foro.images.digests import Digests
from foro.images.load import Images
from foro.images.preprocessing import Preprocessing
from foro.images.samples import Samples
from foro.images.unreadable import UnreadableImage
from foro.types import Label

if TYPE_CHECKING:
    from foro.learner import Learner


class RemoteExtractor(Extractor, ABC):
    """An ``Extractor`` that learns where the images are, and sends only what was learned."""

    @abstractmethod
    def learned(self, images: Images, labels: list[Label], candidate: Candidate) -> KnowledgeEncoder:
        """What there is to learn from images with one candidate, to be merged."""


class Engine(Protocol):
    """Learns elsewhere; see ``foro.cluster.RayEngine``. It is never stored in a model file."""

    def open(self, learner: Learner) -> AbstractContextManager[RemoteExtractor]:
        """What runs the images of one task through the learner's backbone."""
        ...

    def without_unreadable(self, samples: Samples) -> tuple[Samples, list[UnreadableImage]]:
        """What ``foro.images.unreadable.without_unreadable`` gives, found where the images are."""
        ...

    def digests(self, images: Images, preprocessing: Preprocessing) -> Digests:
        """Digests (n, 16) of what a backbone sees of the images, made where these are."""
        ...


def find_engine(engine: str | Engine, **settings: Any) -> Engine | None:
    """The engine of a name, with the settings of ``RayEngine`` that are not None; None is this process."""
    given = {name: value for name, value in settings.items() if value is not None}
    if engine == "ray":
        # By its name: Ray is an optional extra, in a room above the learner's.
        found: Engine = import_module("foro.cluster").RayEngine(**given)
        return found
    if given:
        raise InputError(f"{', '.join(given)} can be set for the engine ray only")
    if engine == "local":
        return None
    if isinstance(engine, str) or not hasattr(engine, "open"):
        raise InputError(f"the engine must be local, ray or a RayEngine, not {engine!r}")
    return engine
