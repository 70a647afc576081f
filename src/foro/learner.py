"""Algorithm 1: the learner that keeps learning new classes with a frozen backbone, forward passes only."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.backbones import Backbone, load_backbone
from foro.config import LearnerConfig, check_seed
from foro.data.images import Images, check_images
from foro.errors import BackboneError, FoRoWarning, InputError, ModelFileError
from foro.extraction import Extractor
from foro.interrupts import uninterrupted
from foro.knowledge import KnowledgeEncoder, Label
from foro.knowledge.encoder import check_features, check_labels
from foro.knowledge.readout import readout
from foro.progress import progress_bar
from foro.prompts.adaptation import Adaptation, Adapter
from foro.prompts.evolution import PromptDistribution
from foro.prompts.history import ActivationHistory
from foro.store import read_model, write_model

Float32 = NDArray[np.float32]

PART = 16_384
"""Samples whose features are held at once while it is not yet sure that all of a task can be read."""


@dataclass(frozen=True)
class LearnReport:
    """What one ``learn`` did."""

    samples: int
    new_labels: tuple[Label, ...]
    generations: int
    forward_passes: int  # sequences that went through the backbone, every candidate's
    seconds: float
    note: str | None = None


class Learner:
    """A frozen vision transformer that learns classes from images, task after task, and forgets none.

    Parameters
    ----------
    backbone
        ``"nano"`` (embedded), a full timm tag, a folder with a checkpoint, or a loaded backbone.
    preset
        ``"default"`` or ``"paper"``; every setting of :class:`foro.config.LearnerConfig` can be overridden by name.
    image_size
        Side of the input in pixels, if not the checkpoint's own.
    seed
        Of the projection and of the evolution.

    Examples
    --------
    >>> learner = Learner("nano")                                # doctest: +SKIP
    >>> learner.learn(["tom.jpg", "rex.jpg"], ["cat", "dog"])    # doctest: +SKIP
    >>> learner.predict(["who.jpg"])                             # doctest: +SKIP
    ['cat']
    >>> learner.save("pets.foro")                                # doctest: +SKIP
    """

    def __init__(
        self,
        backbone: str | Path | Backbone = "nano",
        preset: str = "default",
        image_size: int | None = None,
        seed: int = 0,
        **overrides: Any,
    ) -> None:
        self.config = LearnerConfig.from_preset(preset, **overrides)
        self.seed = check_seed(seed)
        self._source, self.backbone = _resolve(backbone, image_size)
        if self.config.readout_layers > self.backbone.depth:
            raise InputError(f"readout_layers is at most {self.backbone.depth} with {self.backbone.name}")
        self.encoder = KnowledgeEncoder(
            self.backbone.dim * self.config.readout_layers,
            self.config.projection_dim,
            self.config.regularisation,
            self.config.activation,
            seed,
        )
        self._adaptation = Adaptation()

    @property
    def labels(self) -> list[Label]:
        """Every label that can be predicted, in the order in which they were first learned."""
        return self.encoder.labels

    @property
    def prompt(self) -> Float32 | None:
        """The prompt (P, dim) that predictions are made with; None is the empty prompt."""
        return self._adaptation.prompt

    def learn(self, images: Images, labels: Sequence[Label]) -> LearnReport:
        """Learns a task, or any part of one. Interrupted or failed, it leaves the learner as it was before."""
        start = time.perf_counter()
        images, names = check_images(images), check_labels(labels)
        if len(names) != len(images):
            raise InputError(f"{len(images)} images came with {len(names)} labels")
        if not names:
            raise InputError("there is no image to learn from")
        extractor = self._extractor()
        adapter = Adapter(extractor, self.encoder, self.config, self._adaptation, self.seed)
        if self.config.online:  # a batch of one class says nothing of the others
            order = adapter.generator.permutation(len(names))
            images, names = [images[position] for position in order], [names[position] for position in order]
        adapter.prepare(images, names)
        commit = self._gather(self._features(adapter.layers(images, names), len(names), "learning"), names)
        known = set(self.labels)
        with uninterrupted():
            commit()
            self._adaptation = adapter.adaptation
        if adapter.note:
            warnings.warn(adapter.note, FoRoWarning, stacklevel=2)
        return LearnReport(
            samples=len(names),
            new_labels=tuple(label for label in dict.fromkeys(names) if label not in known),
            generations=adapter.generations,
            forward_passes=extractor.forward_passes,
            seconds=time.perf_counter() - start,
            note=adapter.note,
        )

    def unlearn(self, images: Images, labels: Sequence[Label]) -> None:
        """Takes the influence of these very images back, exactly; they must have been learned with these labels."""
        if self.config.policy == "evolve":
            raise InputError("unlearning needs policy none or freeze: with evolve, old features cannot be made again")
        self.encoder.remove(self.features(images), labels)

    def forget(self, label: Label) -> None:
        """Never predicts the label again.

        What its images say about other labels stays; to take that back, ``unlearn`` them first.
        """
        self.encoder.drop(label)

    def merge(self, other: Learner) -> None:
        """Adds everything that ``other`` has learned: the learner that would have learned both."""
        mine, theirs = self._adaptation, other._adaptation
        if self.backbone.fingerprint != other.backbone.fingerprint:
            difference: str | None = "backbones"
        elif self.backbone.image_size != other.backbone.image_size:
            difference = "image sizes"
        elif mine.settled and theirs.settled and not _equal(mine.prompt, theirs.prompt):
            difference = "prompts"
        elif self.config.readout_layers != other.config.readout_layers:
            difference = "readouts"
        else:
            difference = self.encoder.difference(other.encoder)
        if difference:
            raise InputError(f"these learners cannot be merged: their {difference} differ")
        with uninterrupted():
            self.encoder.merge(other.encoder)
            self._adaptation = replace(mine if mine.settled else theirs, tasks=mine.tasks + theirs.tasks)

    def blank(self) -> Learner:
        """A learner with the same backbone, settings and prompt that has learned nothing: the two can be merged."""
        twin = Learner.__new__(Learner)
        twin.config, twin.seed, twin._source, twin.backbone = self.config, self.seed, self._source, self.backbone
        twin.encoder, twin._adaptation = self.encoder.blank(), self._adaptation
        return twin

    def features(self, images: Images) -> Float32:
        """Feature vectors (n, d) of images, as the classifier's projection sees them."""
        parts = list(self._extract(images, "features"))
        return np.concatenate(parts) if parts else np.zeros((0, self.encoder.features), np.float32)

    def scores(self, images: Images) -> NDArray[np.float64]:
        """Scores (n, c) of images, one column for each of ``labels``."""
        self.encoder.weights  # noqa: B018  solve before the images are read: an error should come at once
        parts = [self.encoder.scores(part) for part in self._extract(images, "predicting")]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.labels)))

    def predict(self, images: Images) -> list[Label]:
        """The most likely label of each image."""
        labels = self.labels
        return [labels[number] for number in self.scores(images).argmax(axis=1)]

    def top(self, images: Images, k: int = 5) -> list[list[tuple[Label, float]]]:
        """The k best labels of each image with their scores, best first."""
        if k < 1:
            raise InputError(f"the best {k} labels cannot be told: k must be at least 1")
        labels = self.labels
        scores = self.scores(images)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return [
            [(labels[number], float(row[number])) for number in order] for row, order in zip(scores, best, strict=True)
        ]

    def save(self, path: str | Path) -> None:
        """Writes the model file, atomically: a reader sees the old one or the new one."""
        adaptation = self._adaptation
        arrays, settings = self.encoder.state()
        arrays = {f"encoder.{name}": array for name, array in arrays.items()}
        if adaptation.prompt is not None:
            arrays["prompt"] = adaptation.prompt
        if adaptation.history is not None:
            arrays["history.mean"] = adaptation.history.mean
            arrays["history.deviation"] = adaptation.history.deviation
        if adaptation.distribution is not None:
            arrays["distribution.mean"] = adaptation.distribution.mean
            arrays["distribution.deviation"] = adaptation.distribution.deviation
        metadata = {
            "backbone": {
                "name": self.backbone.name,
                "source": self._source,
                "fingerprint": self.backbone.fingerprint,
                "image_size": self.backbone.image_size,
            },
            "config": self.config.as_dict(),
            "seed": self.seed,
            "settled": adaptation.settled,
            "tasks": adaptation.tasks,
            "encoder": settings,
        }
        write_model(path, arrays, metadata)

    @classmethod
    def load(cls, path: str | Path, backbone: str | Path | Backbone | None = None) -> Learner:
        """The learner of a model file; refuses a backbone other than the one it was taught with."""
        arrays, metadata = read_model(path)
        try:
            taught = metadata["backbone"]
            learner = cls.__new__(cls)
            learner.config = LearnerConfig.from_preset(**metadata["config"])
            learner.seed = metadata["seed"]
            learner.encoder = KnowledgeEncoder.from_state(
                {name.removeprefix("encoder."): each for name, each in arrays.items() if name.startswith("encoder.")},
                metadata["encoder"],
            )
            learner._adaptation = Adaptation(
                arrays.get("prompt"),
                metadata["settled"],
                _pair(ActivationHistory, arrays, "history"),
                _pair(PromptDistribution, arrays, "distribution"),
                metadata["tasks"],
            )
            source, fingerprint = taught["source"] or taught["name"], taught["fingerprint"]
            image_size = taught["image_size"]
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
        except ValueError as error:
            raise ModelFileError(f"{path} is not a model of one piece: {error}") from None
        try:
            learner._source, learner.backbone = _resolve(source if backbone is None else backbone, image_size)
        except BackboneError as error:
            if backbone is not None:
                raise
            raise BackboneError(f"{path} needs {taught['name']}; say where it is by backbone=… ({error})") from None
        if learner.backbone.fingerprint != fingerprint:
            raise ModelFileError(
                f"{path} was taught with {taught['name']} (weights {_short(fingerprint)}), "
                f"not with {learner.backbone.name} (weights {_short(learner.backbone.fingerprint)})"
            )
        return learner

    def _extractor(self) -> Extractor:
        """What runs images through the backbone, for one call; experiments put their feature cache here."""
        return Extractor(self.backbone)

    def _extract(self, images: Images, doing: str) -> Iterator[Float32]:
        """Feature vectors of images with the present prompt, in batches."""
        images = check_images(images)
        return self._features(self._extractor().layers(images, self.prompt), len(images), doing)

    def _features(self, batches: Iterable[Float32], total: int, doing: str) -> Iterator[Float32]:
        """Feature vectors of batches of the CLS of every layer."""
        with progress_bar(doing, total) as advance:
            for layers in batches:
                yield readout(layers, self.config.readout_layers)
                advance(len(layers))

    def _gather(self, batches: Iterable[Float32], names: list[Label]) -> Callable[[], None]:
        """Reads all features of a task, and returns the step that makes the encoder absorb them, all or none.

        Memory does not grow with the task: of a long one, all but the last part is held as statistics.
        """
        earlier: KnowledgeEncoder | None = None
        held: list[Float32] = []
        start = waiting = 0
        for features in batches:
            if waiting >= PART:
                earlier = earlier or self.encoder.blank()
                earlier.absorb(np.concatenate(held), names[start : start + waiting])
                start, waiting, held = start + waiting, 0, []
            check_features(features, self.encoder.features)
            held.append(features)
            waiting += len(features)

        def commit() -> None:
            if earlier is not None:
                self.encoder.merge(earlier)
            self.encoder.absorb(np.concatenate(held), names[start:])

        return commit


def _resolve(backbone: str | Path | Backbone, image_size: int | None) -> tuple[str | None, Backbone]:
    """Where the backbone comes from, if by name, and the backbone itself."""
    if isinstance(backbone, (str, Path)):
        place = Path(backbone)
        source = str(place.resolve()) if place.exists() else str(backbone)
        return source, load_backbone(backbone, image_size=image_size)
    if image_size not in (None, backbone.image_size):
        raise InputError(f"{backbone.name} was loaded for {backbone.image_size} pixels, not for {image_size}")
    return None, backbone


def _short(fingerprint: str) -> str:
    """The first digits of a SHA-256, and the precision that may follow it."""
    return f"{fingerprint[:12]}…{fingerprint[64:]}"


def _equal(one: Float32 | None, other: Float32 | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _pair(kind: Callable[[Any, Any], Any], arrays: dict[str, NDArray[Any]], name: str) -> Any:
    """An object of a mean and a deviation that are stored under a name, or None."""
    if f"{name}.mean" not in arrays:
        return None
    return kind(arrays[f"{name}.mean"], arrays[f"{name}.deviation"])
