"""Algorithm 1: the learner that keeps learning new classes with a frozen backbone, forward passes only."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foro.adaptation.adaptation import Adaptation, Adapter
from foro.backbones import Backbone
from foro.backbones.source import describe_backbone, find_backbone, taught_backbone
from foro.config import LearnerConfig, check_seed
from foro.engine import Engine, RemoteExtractor, find_engine
from foro.errors import FoRoWarning, InputError, ModelFileError
from foro.features.extractor import Extractor
from foro.features.readout import readout
from foro.files import INFERENCE_ONLY, write_model
from foro.files.recovery import recover
from foro.heads.calibration import probabilities
from foro.heads.ridge import KnowledgeEncoder
from foro.heads.ridge.confidence import Estimate
from foro.heads.ridge.encoder import check_features, check_labels
from foro.images.load import Images, check_images
from foro.ledger import Event, Ledger
from foro.lesson import HeldOut, Keep, LearnReport, Lesson, accuracy, choose_held_out
from foro.snapshot import Snapshot, best_labels
from foro.types import Arrays, Float32, Label
from foro.util.interrupts import uninterrupted
from foro.util.progress import progress_bar

if TYPE_CHECKING:
    from foro.evaluation import Evaluation
    from foro.files.export import Exported


PART = 16_384
"""Samples whose features are held at once while it is not yet sure that all of a task can be read."""


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
    engine
        Where ``learn`` runs: ``"local"``, ``"ray"`` or a ``foro.cluster.RayEngine``. It does not change what is
        learned, and is not stored.

    Examples
    --------
    >>> learner = Learner("nano")                                # doctest: +SKIP
    >>> learner.learn(["tom.jpg", "rex.jpg"], ["cat", "dog"])    # doctest: +SKIP
    >>> learner.predict(["who.jpg"])                             # doctest: +SKIP
    ['cat']
    >>> learner.save("pets.foro")                                # doctest: +SKIP
    """

    engine: Engine | None = None

    def __init__(
        self,
        backbone: str | Path | Backbone = "nano",
        preset: str = "default",
        image_size: int | None = None,
        seed: int = 0,
        engine: str | Engine = "local",
        **overrides: Any,
    ) -> None:
        self.engine = find_engine(engine)
        self.config = LearnerConfig.from_preset(preset, **overrides)
        self.seed = check_seed(seed)
        self._source, self.backbone = find_backbone(backbone, image_size)
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
        self.ledger = Ledger()

    @property
    def labels(self) -> list[Label]:
        """Every label that can be predicted, in the order in which they were first learned."""
        return self.encoder.labels

    @property
    def prompt(self) -> Float32 | None:
        """The prompt (P, dim) that predictions are made with; None is the empty prompt."""
        return self._adaptation.prompt

    def learn(self, images: Images, labels: Sequence[Label], held_out: float = 0.0) -> LearnReport:
        """Learns a task, or any part of one. Interrupted or failed, it leaves the learner as it was before.

        With ``held_out``, such a share of the images is first asked for, before and after the others are learned, and
        then learned too: the report has both accuracies. Below ten such images nothing is measured.
        """
        lesson = self.prepare(images, labels, held_out)
        report = lesson.absorb()
        if report.note:
            warnings.warn(report.note, FoRoWarning, stacklevel=2)
        return report

    def prepare(
        self, images: Images, labels: Sequence[Label], held_out: float = 0.0, keep: Keep | None = None
    ) -> Lesson:
        """The first step of ``learn``: makes all features, and changes nothing; ``Lesson.absorb`` is the second.

        ``keep`` is called with the features of every batch, for whoever writes them down before they are learned; not
        with an engine that learns elsewhere, from where only statistics come.
        """
        start = time.perf_counter()
        images, names = check_images(images), check_labels(labels)
        if len(names) != len(images):
            raise InputError(f"{len(images)} images came with {len(names)} labels")
        if not names:
            raise InputError("there is no image to learn from")
        if not 0 <= held_out < 1:
            raise InputError(f"held_out is a share of the images between 0 and 1, not {held_out}")
        tested: list[int] = []
        if held_out:
            generator = np.random.default_rng([self.seed, self._adaptation.tasks, 1])
            tested = choose_held_out(names, held_out, generator)
        task, labelled = images, names
        if tested:
            aside = set(tested)
            task, labelled = _taken(images, names, [each for each in range(len(names)) if each not in aside])
        with self._opened() as extractor:
            adapter = Adapter(extractor, self.encoder, self.config, self._adaptation, self.seed)
            if self.config.online:  # a batch of one class says nothing of the others
                task, labelled = _taken(task, labelled, adapter.generator.permutation(len(labelled)).tolist())
            adapter.prepare(task, labelled)
            if isinstance(extractor, RemoteExtractor):
                learned = extractor.learned(task, labelled, adapter.adaptation.prompt)
                commit: Callable[[], None] = partial(self.encoder.merge, learned, labelled)
            else:
                batches = self._features(adapter.layers(task, labelled), len(labelled), "learning")
                commit = gather(self.encoder, _kept(batches, labelled, keep, False), labelled)
            measured = self._hold_out(*_taken(images, names, tested), extractor, adapter, keep) if tested else None
        return Lesson(
            self,
            labelled + (measured.names if measured else []),
            commit,
            measured,
            adapter.adaptation,
            adapter.generations,
            extractor.forward_passes,
            adapter.note,
            start,
        )

    def _hold_out(
        self, images: Images, names: list[Label], extractor: Extractor, adapter: Adapter, keep: Keep | None
    ) -> HeldOut:
        """Features of images that are held out, and how many of them the learner as it is tells right."""
        prompt = adapter.adaptation.prompt
        batches = self._features(extractor.layers(images, prompt), len(images), "measuring")
        features = np.concatenate(list(_kept(batches, names, keep, True)))
        check_features(features, self.encoder.features)
        asked = features if prompt is self.prompt or not self.labels else self.features(images)
        return HeldOut(features, names, accuracy(self, asked, names))

    def unlearn(self, images: Images, labels: Sequence[Label]) -> None:
        """Takes the influence of these very images back, exactly; they must have been learned with these labels."""
        names = check_labels(labels)
        self._unlearn(self._unlearnable(images), names)

    def forget(self, label: Label) -> None:
        """Never predicts the label again.

        What its images say about other labels stays; to take that back, ``unlearn`` them first.
        """
        self._forget(label)

    def restore(self, label: Label) -> None:
        """Takes ``forget`` back: the learner is as if the label had never been forgotten."""
        self._restore(label)

    def merge(self, other: Learner) -> None:
        """Adds everything that ``other`` has learned: the learner that would have learned both."""
        self._merge(other)

    def difference(self, other: Learner) -> str | None:
        """What stops the two from being merged, or None."""
        mine, theirs = self._adaptation, other._adaptation
        if self.backbone.fingerprint != other.backbone.fingerprint:
            return "backbones"
        if self.backbone.image_size != other.backbone.image_size:
            return "image sizes"
        if mine.settled and theirs.settled and not _equal(mine.prompt, theirs.prompt):
            return "prompts"
        if self.config.readout_layers != other.config.readout_layers:
            return "readouts"
        return self.encoder.difference(other.encoder)

    def _unlearnable(self, images: Images) -> Float32:
        """Feature vectors (n, d) of images, the same as when they were learned."""
        if self.config.policy == "evolve":
            raise InputError("unlearning needs policy none or freeze: with evolve, old features cannot be made again")
        return self.features(images)

    def _unlearn(self, features: Float32, names: list[Label], when: str | None = None) -> None:
        self.encoder.remove(features, names)
        self.ledger.add(Event.of("unlearn", Counter(names), when))

    def _forget(self, label: Label, when: str | None = None) -> None:
        count = self.encoder.counts.get(label, 0)
        self.encoder.drop(label)
        self.ledger.add(Event.of("forget", {label: count}, when))

    def _restore(self, label: Label, when: str | None = None) -> None:
        before = self.encoder.counts.get(label, 0)
        self.encoder.restore(label)
        self.ledger.add(Event.of("restore", {label: self.encoder.counts[label] - before}, when))

    def _merge(self, other: Learner, when: str | None = None) -> None:
        if difference := self.difference(other):
            raise InputError(f"these learners cannot be merged: their {difference} differ")
        mine, theirs = self._adaptation, other._adaptation
        with uninterrupted():
            self.encoder.merge(other.encoder)
            self._adaptation = replace(mine if mine.settled else theirs, tasks=mine.tasks + theirs.tasks)
            counts = other.encoder.counts
            self.ledger.add(Event.of("merge", counts, when), counts)

    def blank(self) -> Learner:
        """A learner with the same backbone, settings and prompt that has learned nothing: the two can be merged."""
        twin = Learner.__new__(Learner)
        twin.config, twin.seed, twin._source, twin.backbone = self.config, self.seed, self._source, self.backbone
        twin.encoder, twin._adaptation = self.encoder.blank(), self._adaptation
        twin.ledger, twin.engine = Ledger(), self.engine
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

    def probabilities(self, images: Images) -> NDArray[np.float64]:
        """How likely each of ``labels`` is (n, c), for each image: as sure as ``estimate`` is right."""
        sharpness = self.encoder.sharpness
        return probabilities(self.scores(images), sharpness)

    def estimate(self) -> Estimate:
        """Accuracy to expect, overall and for each label, from up to 512 samples that were left out one at a time."""
        return self.encoder.estimate()

    def predict(self, images: Images) -> list[Label]:
        """The most likely label of each image."""
        labels = self.labels
        return [labels[number] for number in self.scores(images).argmax(axis=1)]

    def top(self, images: Images, k: int = 5) -> list[list[tuple[Label, float]]]:
        """The k best labels of each image with their scores, best first."""
        if k < 1:
            raise InputError(f"the best {k} labels cannot be told: k must be at least 1")
        labels = self.labels
        return [best_labels(labels, row, k) for row in self.scores(images)]

    def snapshot(self) -> Snapshot:
        """The learner as it is now, for predicting: read-only, safe to use by other threads while this one learns."""
        return Snapshot(
            tuple(self.labels),
            self.encoder.weights,
            self.encoder.sharpness,
            self.prompt,
            self.encoder.projection,
            self.config.readout_layers,
            self._extractor(),
            self._source,
        )

    def evaluate(self, images: Images, labels: Sequence[Label]) -> Evaluation:
        """How well the learner does on images that it has not learned, for each class, and how sure it is."""
        from foro.evaluation import evaluate
        from foro.images.samples import Samples

        return evaluate(self.snapshot(), Samples(check_images(images), check_labels(labels)), strict=True)

    def export(self, path: str | Path, images: Images | None = None) -> Exported:
        """Writes ``.onnx`` or a small ``.safetensors`` to predict with elsewhere; checked on images, or on digits."""
        from foro.files.export import export_model

        return export_model(self.snapshot(), path, images)

    def save(self, path: str | Path) -> None:
        """Writes the model file, atomically: a reader sees the old one or the new one."""
        write_model(path, *self.state())

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready metadata."""
        learned, encoder = self.encoder.state()
        adapted, adaptation = self._adaptation.state()
        metadata = {
            "backbone": describe_backbone(self.backbone, self._source),
            "config": self.config.as_dict(),
            "seed": self.seed,
            **adaptation,
            "encoder": encoder,
            "ledger": self.ledger.state([*self.labels, *self.encoder.forgotten]),
        }
        return {**{f"encoder.{name}": array for name, array in learned.items()}, **adapted}, metadata

    @classmethod
    def load(
        cls, path: str | Path, backbone: str | Path | Backbone | None = None, engine: str | Engine = "local"
    ) -> Learner:
        """The learner of a model file; refuses a backbone other than the one it was taught with.

        What a :class:`foro.durable.DurableLearner` has learned and not saved yet is part of it.
        """
        learner = recover(cls, Path(path), backbone).learner
        learner.engine = find_engine(engine)
        return learner

    @classmethod
    def from_state(
        cls,
        arrays: Arrays,
        metadata: dict[str, Any],
        path: str | Path = "the model",
        backbone: str | Path | Backbone | None = None,
    ) -> Learner:
        """The learner whose ``state`` this is; takes over the arrays. Errors name the path."""
        if metadata.get(INFERENCE_ONLY):
            raise ModelFileError(f"{path} is for predicting only: to learn, use the model that it was exported from")
        try:
            taught = {key: metadata["backbone"][key] for key in ("name", "source", "fingerprint", "image_size")}
            learner = cls.__new__(cls)
            learner.config = LearnerConfig.from_preset(**metadata["config"])
            learner.seed = metadata["seed"]
            learner.encoder = KnowledgeEncoder.from_state(
                {name.removeprefix("encoder."): each for name, each in arrays.items() if name.startswith("encoder.")},
                metadata["encoder"],
            )
            learner._adaptation = Adaptation.from_state(arrays, metadata)
            learner.ledger = Ledger.from_state(metadata["ledger"]) if "ledger" in metadata else Ledger()
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
        except ValueError as error:
            raise ModelFileError(f"{path} is not a model of one piece: {error}") from None
        learner._source, learner.backbone = taught_backbone(path, taught, backbone)
        return learner

    def _opened(self) -> AbstractContextManager[Extractor]:
        """What runs the images of one ``learn`` through the backbone, wherever that is done."""
        return nullcontext(self._extractor()) if self.engine is None else self.engine.open(self)

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


def gather(encoder: KnowledgeEncoder, batches: Iterable[Float32], names: list[Label]) -> Callable[[], None]:
    """Reads all features of a task, and returns the step that makes an encoder absorb them, all or none.

    Memory does not grow with the task: of a long one, all but the last part is held as statistics.
    """
    earlier: KnowledgeEncoder | None = None
    held: list[Float32] = []
    start = waiting = 0
    for features in batches:
        if waiting >= PART:
            earlier = earlier or encoder.blank()
            earlier.absorb(np.concatenate(held), names[start : start + waiting])
            start, waiting, held = start + waiting, 0, []
        check_features(features, encoder.features)
        held.append(features)
        waiting += len(features)

    def commit() -> None:
        if earlier is not None:
            encoder.merge(earlier)
        encoder.absorb(np.concatenate(held), names[start:])

    return commit


def _equal(one: Float32 | None, other: Float32 | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _taken(images: Images, names: list[Label], positions: list[int]) -> tuple[Images, list[Label]]:
    """The images and labels at some positions."""
    return [images[position] for position in positions], [names[position] for position in positions]


def _kept(batches: Iterable[Float32], names: list[Label], keep: Keep | None, held_out: bool) -> Iterator[Float32]:
    """The batches as they are; ``keep`` sees each of them, with its labels."""
    start = 0
    for features in batches:
        if keep is not None:
            keep(features, names[start : start + len(features)], held_out)
        start += len(features)
        yield features
