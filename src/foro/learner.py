"""Algorithm 1: the learner that keeps learning new classes with a frozen backbone, forward passes only."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foro.adaptation.adaptation import Adaptation
from foro.adaptation.fitness import parse_terms
from foro.backbones import Backbone
from foro.backbones.source import describe_backbone, find_backbone, taught_backbone
from foro.changes import Change, Forget, Learn, Merge, Rename, Restore, Unlearn
from foro.config import LearnerConfig, check_seed
from foro.engine import Engine, find_engine
from foro.errors import FoRoWarning, InputError, ModelFileError, NeverLearnedError
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.files import INFERENCE_ONLY, check_digests, explained, write_model
from foro.files.model_file import DIGESTS, HEAD, check_width, head_arrays
from foro.files.recovery import recover
from foro.heads import find_head
from foro.heads.head import Estimate, Gathered, Head
from foro.images.load import Images, check_images
from foro.images.unreadable import image_name
from foro.ledger import Event, Ledger
from foro.preparation import Keep, LearnReport, prepare_learn
from foro.snapshot import Snapshot
from foro.types import Arrays, Float32, Float64, Label
from foro.util.interrupts import uninterrupted
from foro.util.progress import progress_of

if TYPE_CHECKING:
    from foro.evaluation import Evaluation
    from foro.files.export import Exported

LARGE = {f"{HEAD}gram"}
"""Arrays that are left on the disk until something is learned."""


class Learner:
    """A frozen vision transformer that learns classes from images, task after task, and forgets none.

    Parameters
    ----------
    backbone
        ``"nano"`` (embedded), a full timm tag, a folder with a checkpoint, or a loaded backbone.
    preset
        ``"default"``, ``"paper"`` or a ``foro.LearnerConfig``; every setting of it can be overridden by name.
    image_size
        Side of the input in pixels, if not the checkpoint's own.
    seed
        Of the projection and of the evolution.
    engine
        Where ``learn`` runs: ``"local"``, ``"ray"`` or a ``foro.RayEngine``. It does not change what is learned, and
        is not stored.

    Examples
    --------
    >>> learner = Learner("nano")                                # doctest: +SKIP
    >>> learner.learn(["tom.jpg", "rex.jpg"], ["cat", "dog"])    # doctest: +SKIP
    >>> learner.predict(["who.jpg"])                             # doctest: +SKIP
    ['cat']
    >>> learner.save("pets.foro")                                # doctest: +SKIP
    """

    engine: Engine | None = None
    _unchecked: Callable[[], None] | None = None
    """Reads the large arrays of a file for the first time, to see whether they are what was written; None: done."""

    def __init__(
        self,
        backbone: str | Path | Backbone = "nano",
        preset: str | LearnerConfig = "default",
        image_size: int | None = None,
        seed: int = 0,
        engine: str | Engine = "local",
        **overrides: Any,
    ) -> None:
        self.engine = find_engine(engine)
        self.config = LearnerConfig.from_preset(preset, **overrides)
        parse_terms(self.config.fitness)  # an unknown one should be an error at once
        self.seed = check_seed(seed)
        self.source, self.backbone = find_backbone(backbone, image_size)
        self.readout = Readout.of(self.config.readout, self.backbone)
        blocks = self.readout.blocks(self.config.projection_dim) if self.config.projection_dim else ()
        self.head: Head = find_head(self.config.head).build(self.readout.features, blocks, self.config, seed)
        self.adaptation = Adaptation()
        self.ledger = Ledger()

    @property
    def labels(self) -> list[Label]:
        """Every label that can be predicted, in the order in which they were first learned."""
        return self.head.labels

    @property
    def candidate(self) -> Candidate:
        """The prompt and gains that predictions are made with."""
        return self.adaptation.candidate

    def apply(self, change: Change) -> float | None:
        """Makes a change: every verb ends here, and so does what a journal replays.

        Returns the accuracy on samples that were held out, measured before these were learned too.
        """
        self.check()
        head, accuracy, taught = self.head, None, False
        with uninterrupted():
            if isinstance(change, Learn):
                counts = dict(Counter(change.labels))
                change.samples.absorb_into(head)
                self.adaptation, taught = change.adaptation, True
                if change.held_out is not None:
                    accuracy = self.accuracy_on(change.held_out)
                    change.held_out.absorb_into(head)
            elif isinstance(change, Unlearn):
                counts = dict(Counter(change.labels))
                try:
                    head.unlearn(change.features, change.labels)
                except NeverLearnedError as error:
                    raise NeverLearnedError(error.positions, change.images) from None
            elif isinstance(change, Forget):
                counts = {change.label: head.counts.get(change.label, 0)}
                head.forget(change.label)
            elif isinstance(change, Restore):
                before = head.counts.get(change.label, 0)
                head.restore(change.label)
                counts = {change.label: head.counts[change.label] - before}
            elif isinstance(change, Rename):
                counts = {change.to: head.counts.get(change.label, 0)}
                head.rename(change.label, change.to)
                self.ledger.rename(change.label, change.to)
            else:
                counts = dict(zip(head.known_as(change.head.labels), change.head.counts.values(), strict=True))
                head.merge(change.head)
                mine, theirs = self.adaptation, change.adaptation
                self.adaptation = replace(mine if mine.settled else theirs, tasks=mine.tasks + theirs.tasks)
                taught = True
            self.ledger.add(Event.of(type(change).__name__.lower(), counts, change.when), counts if taught else ())
        return accuracy

    def check(self) -> None:
        """Refuses a model file whose statistics are not what was written: once, before they are changed or copied."""
        if self._unchecked is not None:
            self._unchecked()
            self._unchecked = None

    def learn(self, images: Images, labels: Sequence[Label], held_out: float = 0.0) -> LearnReport:
        """Learns a task, or any part of one. Interrupted or failed, it leaves the learner as it was before.

        With ``held_out``, that share of the images first measures the accuracy, before and after the others are
        learned, and is then learned too. With fewer than ten such images nothing is measured.
        """
        start = time.perf_counter()
        change, report = self.prepare(images, labels, held_out)
        accuracy = self.apply(change)
        if report.note:
            warnings.warn(report.note, FoRoWarning, stacklevel=2)
        return replace(report, accuracy_after=accuracy, seconds=time.perf_counter() - start)

    def unlearn(self, images: Images, labels: Sequence[Label]) -> None:
        """Takes the influence of these very images back, exactly; they must have been learned with these labels."""
        self.apply(self.prepare_unlearn(images, labels))

    def forget(self, label: Label) -> None:
        """Never predicts the label again.

        What its images say about other labels stays; to take that back, ``unlearn`` them first.
        """
        self.apply(Forget(self.head.known_as([label])[0]))

    def restore(self, label: Label) -> None:
        """Takes ``forget`` back: the learner is as if the label had never been forgotten."""
        self.apply(Restore(self.head.known_as([label])[0]))

    def rename(self, label: Label, to: Label) -> None:
        """Calls a label something else; where that is known too, both are one, as if learned so from the start."""
        self.apply(self.prepare_rename(label, to))

    def merge(self, other: Learner) -> None:
        """Adds everything that ``other`` has learned: the learner that would have learned both."""
        self.apply(self.prepare_merge(other))

    def prepare(
        self, images: Images, labels: Sequence[Label], held_out: float = 0.0, keep: Keep | None = None
    ) -> tuple[Learn, LearnReport]:
        """What ``learn`` would change, and its report: makes all features, and changes nothing.

        ``keep`` is called with the features of every batch, to write them down before they are learned; not with an
        engine that learns elsewhere, from where only statistics come.
        """
        return prepare_learn(self, images, labels, held_out, keep)

    def prepare_unlearn(self, images: Images, labels: Sequence[Label]) -> Unlearn:
        """What ``unlearn`` would change: makes the features again, the same as when they were learned."""
        names = self.head.known_as(labels)
        if self.config.policy == "evolve":
            raise InputError("unlearning needs policy none or freeze: with evolve, old features cannot be made again")
        called = [image_name(image, number) for number, image in enumerate(check_images(images))]
        return Unlearn(self.features(images), names, images=called)

    def prepare_rename(self, label: Label, to: Label) -> Rename:
        """What ``rename`` would change."""
        known, name = self.head.known_as([label, to])
        if known == name:
            raise InputError(f"{known!r} is called so already")
        return Rename(known, name)

    def prepare_merge(self, other: Learner) -> Merge:
        """What ``merge`` would change, if the two can be merged."""
        other.check()
        if difference := self.difference(other):
            raise InputError(f"these learners cannot be merged: their {difference} differ")
        return Merge(other.head, other.adaptation)

    def difference(self, other: Learner) -> str | None:
        """What stops the two from being merged, or None."""
        mine, theirs = self.adaptation, other.adaptation
        if self.backbone.fingerprint != other.backbone.fingerprint:
            return "backbones"
        if self.backbone.image_size != other.backbone.image_size:
            return "image sizes"
        if mine.settled and theirs.settled and not mine.candidate.same_as(theirs.candidate):
            return "adaptations"
        if self.config.readout != other.config.readout:
            return "readouts"
        return self.head.difference(other.head)

    def blank(self) -> Learner:
        """A learner with the same backbone, settings and prompt that has learned nothing: the two can be merged."""
        twin = Learner.__new__(Learner)
        twin.config, twin.seed, twin.source, twin.backbone = self.config, self.seed, self.source, self.backbone
        twin.head, twin.adaptation, twin.readout = self.head.blank(), self.adaptation, self.readout
        twin.ledger, twin.engine = Ledger(), self.engine
        return twin

    def features(self, images: Images) -> Float32:
        """Feature vectors (n, d) of images, as the classifier's projection sees them."""
        images = check_images(images)
        batches = self._extractor().features(images, self.readout, self.candidate)
        parts = list(progress_of(batches, len(images), "features"))
        return np.concatenate(parts) if parts else np.zeros((0, self.head.features), np.float32)

    def predict(self, images: Images) -> list[Label]:
        """The most likely label of each image."""
        return self._uncalibrated().predict(images)

    def scores(self, images: Images) -> Float64:
        """Scores (n, c) of images, one column for each of ``labels``."""
        return self._uncalibrated().scores(images)

    def probabilities(self, images: Images) -> Float64:
        """The calibrated probability of each of ``labels`` (n, c), for each image."""
        return self.snapshot().probabilities(images)

    def familiarity(self, images: Images) -> Float64:
        """The chance (n,) that each image is of any known class at all; NaN where too little was learned to tell."""
        return self.snapshot().familiarity(images)

    def top(self, images: Images, k: int = 5) -> list[list[tuple[Label, float]]]:
        """The k most likely labels of each image with their probabilities, best first."""
        return self.snapshot().top(images, k)

    def estimate(self) -> Estimate:
        """The accuracy to expect, overall and for each label: leave-one-out on up to 512 samples."""
        return self.head.estimate()

    def evaluate(self, images: Images, labels: Sequence[Label]) -> Evaluation:
        """Accuracy, confusions and calibration on images that were not learned."""
        return self.snapshot().evaluate(images, labels)

    def snapshot(self) -> Snapshot:
        """The learner as it is now, for predicting: read-only, safe to use by other threads while this one learns."""
        return replace(self._uncalibrated(), sharpness=self.head.sharpness, familiar=self.head.familiarity())

    def export(self, path: str | Path, images: Images | None = None, portable: bool = False) -> Exported:
        """Writes ``.onnx`` or a small ``.safetensors`` to predict with elsewhere, and checks it on images."""
        from foro.files.export import export_model

        return export_model(self.snapshot(), path, images, portable)

    def save(self, path: str | Path, portable: bool = False) -> None:
        """Writes the model file, atomically: a reader sees the old one or the new one.

        Of the random projection it has the seed. ``portable`` writes the matrix too, from now on, for a computer whose
        NumPy draws other numbers.
        """
        if portable:
            self.make_portable()
        write_model(path, *self.state())

    def make_portable(self) -> None:
        """Every file that is written from now on has the matrix of the random projection, not only its seed."""
        if self.head.projection is not None:
            self.head.projection.portable = True

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready metadata."""
        self.check()
        learned, encoder = self.head.state()
        adapted, adaptation = self.adaptation.state()
        metadata = {
            "backbone": describe_backbone(self.backbone, self.source),
            "config": self.config.as_dict(),
            "seed": self.seed,
            **adaptation,
            "encoder": encoder,
            "ledger": self.ledger.state([*self.labels, *self.head.forgotten]),
        }
        return {**{f"{HEAD}{name}": array for name, array in learned.items()}, **adapted}, metadata

    @classmethod
    def load(
        cls, path: str | Path, backbone: str | Path | Backbone | None = None, engine: str | Engine = "local"
    ) -> Learner:
        """The learner of a model file; refuses a backbone other than the one it was taught with.

        What a ``foro.DurableLearner`` has learned and not saved yet is part of it.
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
        learner = cls.__new__(cls)
        if DIGESTS in metadata:  # a journal checks itself
            check_digests(path, arrays, metadata, [name for name in arrays if name not in LARGE])
            learner._unchecked = partial(check_digests, path, arrays, metadata, [*LARGE.intersection(arrays)])
        with explained(path):
            learner.config = LearnerConfig.from_preset(**metadata["config"])
            learner.seed = check_seed(metadata["seed"])
            learner.adaptation = Adaptation.from_state(arrays, metadata)
            learner.ledger = Ledger.from_state(metadata["ledger"])
            taught, encoder = metadata["backbone"], metadata["encoder"]
        learner.source, learner.backbone = taught_backbone(path, taught, backbone)
        with explained(path):
            learner.readout = Readout.of(learner.config.readout, learner.backbone)
            check_width(encoder, learner.readout.features)
            learner.head = find_head(learner.config.head).from_state(head_arrays(arrays), encoder)
        return learner

    def opened(self) -> AbstractContextManager[Extractor]:
        """What runs the images of one ``learn`` through the backbone, wherever that is done."""
        return nullcontext(self._extractor()) if self.engine is None else self.engine.open(self)

    def _extractor(self) -> Extractor:
        """What runs images through the backbone, for one call; experiments put their feature cache here."""
        return Extractor(self.backbone)

    def _uncalibrated(self) -> Snapshot:
        """A snapshot for scores alone: to measure the sharpness of probabilities takes time."""
        return Snapshot(
            tuple(self.labels),
            self.head.weights,
            float("nan"),
            self.candidate,
            self.head.projection,
            self.readout,
            self._extractor(),
            self.source,
        )

    def accuracy_on(self, samples: Gathered) -> float | None:
        """Share of samples that are classified correctly; None with one label, or where none of theirs is known."""
        assert samples.features is not None
        if len(self.labels) < 2 or not set(self.labels).intersection(samples.labels):
            return None
        answers = zip(self.head.predict(samples.features), samples.labels, strict=True)
        return float(np.mean([answer == label for answer, label in answers]))
