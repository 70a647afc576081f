"""What an experiment needs of a method, and the decorator that registers one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from foro.backbones.base import Backbone
from foro.errors import InputError
from foro.features.cache import FeatureCache
from foro.images.load import Images
from foro.types import Label

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class LearnCost:
    """The cost of learning one task: passes of single images through the backbone, for every candidate, and back."""

    forward_passes: int
    backward_passes: int = 0
    note: str | None = None


class Method(ABC):
    """A continual learner under test; a new one is a subclass with the ``register`` decorator.

    A method is made by ``build`` or ``load``, and may use the feature cache it is given, or not.
    """

    name: ClassVar[str]
    row: ClassVar[str]  # the row of the paper's tables that it is compared with
    summary: ClassVar[str]
    fixed: ClassVar[Settings] = {}  # settings that make the method what it is and cannot be overridden
    revision: ClassVar[int] = 0  # raised with every change that alters its results: older ones are then ignored
    needs: ClassVar[tuple[str, ...]] = ()  # modules of the torch extra that it cannot run without

    @classmethod
    @abstractmethod
    def resolve(cls, overrides: Settings) -> dict[str, Any]:
        """Every setting by name, JSON-ready, with the overrides applied; an InputError for one it does not have."""

    @classmethod
    @abstractmethod
    def helps(cls) -> dict[str, str]:
        """What each setting that can be overridden is, by name."""

    @classmethod
    def check_installed(cls, settings: Settings) -> None:
        """Raises an InputError that says what must be installed before it can run with these settings."""
        if missing := [name for name in cls.needs if find_spec(name) is None]:
            raise InputError(f'{cls.name} needs {" and ".join(missing)}: pip install "foro[torch]"')

    @classmethod
    @abstractmethod
    def build(cls, backbone: Backbone, settings: Settings, seed: int, cache: FeatureCache | None = None) -> Method:
        """A method that has learned nothing, with settings that ``resolve`` returned."""

    @classmethod
    @abstractmethod
    def load(cls, path: Path, backbone: Backbone, cache: FeatureCache | None = None) -> Method:
        """What ``save`` wrote: it continues exactly as the saved one would have."""

    @abstractmethod
    def learn(self, images: Images, labels: Sequence[Label]) -> LearnCost:
        """Learns one task."""

    @abstractmethod
    def predict(self, images: Images) -> list[Label]:
        """The most likely label of each image, among all labels learned so far."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes everything that going on with the next task needs into one file."""


METHODS: dict[str, type[Method]] = {}
"""Those whose files were imported; ``foro.research.protocol.method_catalog`` imports all of them."""

Class = TypeVar("Class", bound=type[Method])


def register(name: str, row: str) -> Callable[[Class], Class]:
    """Makes a method available by name; ``row`` is its row in the paper's tables, the docstring is its summary."""

    def decorate(method: Class) -> Class:
        if name in METHODS:
            raise InputError(f"a method named {name!r} is already registered")
        method.name, method.row = name, row
        method.summary = (method.__doc__ or "").strip().partition("\n")[0].removesuffix(".").replace("``", "")
        METHODS[name] = method
        return method

    return decorate
