"""What all baselines share: settings and presets, labels that come at any time, and a file without pickles."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.config import check_seed
from foro.errors import InputError, ModelFileError
from foro.features.cache import FeatureCache
from foro.images.load import Images, check_images
from foro.labels import check_labels
from foro.research.methods.method import LearnCost, Method, Settings
from foro.types import Arrays, Label
from foro.util.settings import check_settings, setting
from foro.util.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = "foro-baseline"


@dataclass(frozen=True)
class BaselineSettings:
    """What all baselines have; text that a command line takes for a number or None is text again."""

    preset: Literal["published", "fast"] = setting(
        "published",
        "published: the settings of the method's own paper or code; fast: a short version for small machines",
    )

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if (kind is str and type(value) is int) or (value is None and "none" in get_args(kind)):
                object.__setattr__(self, name, str(value).lower())
        check_settings(self)


class Baseline(Method):
    """A method of another paper. A subclass has its own settings, learns tasks, scores images and names its state.

    Training changes the model step by step: after a ``learn`` that failed or was interrupted, load the saved one.
    """

    settings_type: ClassVar[type[BaselineSettings]]
    fast: ClassVar[Settings] = {}  # what the fast preset changes
    needs: ClassVar[tuple[str, ...]] = ("torch", "timm")

    def __init__(self, backbone: Backbone, settings: Any, seed: int, cache: FeatureCache | None = None) -> None:
        self.backbone = backbone
        self.settings = settings
        self.seed = check_seed(seed)
        self.cache = cache
        self.labels: list[Label] = []
        self.tasks = 0

    @abstractmethod
    def learn_task(self, images: Images, targets: NDArray[np.intp]) -> LearnCost:
        """Learns a task from images and the positions of their labels in ``labels``, which has the new ones already."""

    @abstractmethod
    def scores(self, images: Images) -> NDArray[Any]:
        """Scores (n, c) of images, one column for each of ``labels``."""

    @abstractmethod
    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything learned, as arrays and JSON-ready values; labels, tasks, seed and settings are saved anyway."""

    @abstractmethod
    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        """Takes the state of a saved one, after ``labels`` and ``tasks`` are what they were."""

    @classmethod
    def resolve(cls, overrides: Settings) -> dict[str, Any]:
        known = [each.name for each in fields(cls.settings_type)]
        for name in overrides:
            if name not in known:
                raise InputError(f"{cls.name} has no setting {name!r}; its settings are {', '.join(known)}")
        preset = cls.fast if overrides.get("preset") == "fast" else {}
        return asdict(cls.settings_type(**{**preset, **overrides}))

    @classmethod
    def helps(cls) -> dict[str, str]:
        return {each.name: each.metadata["help"] for each in fields(cls.settings_type)}

    @classmethod
    def build(cls, backbone: Backbone, settings: Settings, seed: int, cache: FeatureCache | None = None) -> Self:
        cls.check_installed(settings)
        return cls(backbone, cls.settings_type(**settings), seed, cache)

    def learn(self, images: Images, labels: Sequence[Label]) -> LearnCost:
        images, names = check_images(images), check_labels(labels)
        if len(names) != len(images):
            raise InputError(f"{len(images)} images came with {len(names)} labels")
        if not names:
            raise InputError("there is no image to learn from")
        self.labels += [name for name in dict.fromkeys(names) if name not in self.labels]
        position = {label: number for number, label in enumerate(self.labels)}
        cost = self.learn_task(images, np.array([position[name] for name in names], np.intp))
        self.tasks += 1
        return cost

    def predict(self, images: Images) -> list[Label]:
        if not self.labels:
            raise InputError("nothing has been learned yet")
        return [self.labels[number] for number in self.scores(check_images(images)).argmax(axis=1)]

    def save(self, path: Path) -> None:
        arrays, values = self.state()
        about = {
            "method": self.name,
            "settings": asdict(self.settings),
            "seed": self.seed,
            "labels": self.labels,
            "tasks": self.tasks,
            "backbone": self.backbone.fingerprint,
            "values": values,
        }
        write_tensors(path, arrays, {"format": FORMAT, "foro": json.dumps(about, ensure_ascii=False)})

    @classmethod
    def load(cls, path: Path, backbone: Backbone, cache: FeatureCache | None = None) -> Self:
        arrays, header = read_tensors(path)
        try:
            about = json.loads(header["foro"])
            if header["format"] != FORMAT or about["method"] != cls.name:
                raise ModelFileError(f"{path} was not saved by {cls.name}")
            if about["backbone"] != backbone.fingerprint:
                raise ModelFileError(f"{path} was taught with another backbone than {backbone.name}")
            method = cls.build(backbone, about["settings"], about["seed"], cache)
            method.labels, method.tasks = about["labels"], about["tasks"]
            method.restore(arrays, about["values"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
        return method
