"""Algorithm 1: the learner that keeps learning new classes with a frozen backbone, forward passes only."""

from __future__ import annotations

import time
import warnings
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
from foro.backbones.graph.linear import Precision
from foro.backbones.source import describe_backbone, find_backbone, taught_backbone
from foro.changes import Change, Forget, Learn, Merge, Rename, Restore, Unlearn
from foro.config import LearnerConfig, check_seed
from foro.engine import Engine, find_engine
from foro.errors import FoRoWarning, InputError, ModelFileError
from foro.features.candidate import Candidate
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.files import INFERENCE_ONLY, check_digests, explained, write_model
from foro.files.model_file import DIGESTS, HEAD, check_width, head_arrays
from foro.files.recovery import recover
from foro.heads import find_head
from foro.heads.head import Estimate, Gathered, Head
from foro.images.digests import Digests
from foro.images.load import Images, check_images
from foro.images.look import look
from foro.known import Known
from foro.ledger import Event, Ledger
from foro.preparation import Keep, LearnReport, prepare_learn, prepare_merge, prepare_unlearn
from foro.snapshot import Snapshot
from foro.types import Arrays, Float32, Float64, Label
from foro.util.interrupts import uninterrupted
from foro.util.progress import progress_of

if TYPE_CHECKING:
    from foro.evaluation import Evaluation
    from foro.files.export import Exported

LARGE = {f"{HEAD}gram"}
"""Arrays that are left on the disk until something is learned."""
NOTHING_TO_ADD = "nothing was added: every image of the other model was learned here too"


class Learner:
    """A frozen vision transformer that learns classes from images, task after task, and forgets none.

    Parameters
    ----------
    backbone
        ``"nano"`` (embedded), a full timm tag, a folder with a checkpoint, or a loaded backbone.
    preset
        ``"default"``, ``"adapt"``, ``"paper"`` or a ``foro.LearnerConfig``; every setting of it can be overridden by
        name.
    image_size
        Side of the input in pixels, if not the checkpoint's own.
    precision
        ``"float32"``, or ``"int8"``: about 1.4 times as fast at 224 pixels where the processor has instructions for it.
    seed
        Of the projection and of the evolution.
    engine
        Where ``learn`` runs: ``"local"``, ``"ray"`` or a ``foro.RayEngine``. It does not change what is learned, and
        is not stored.

    Examples
    --------
    >>> learner = Learner("nano")
    >>> report = learner.learn(["tom.jpg", "rex.jpg"], ["cat", "dog"])
    >>> learner.predict(["who.jpg"])
    ['cat']
    >>> learner.save("pets.foro")
    """

    engine: Engine | None = None
    _unchecked: Callable[[], None] | None = None
    """Reads the large arrays of a file for the first time, to see whether they are what was written; None: done."""
    remembers = True
    """Whether it keeps digests of the images that it has learned, and learns none of them twice unasked."""

    def __init__(
        self,
        backbone: str | Path | Backbone = "nano",
        preset: str | LearnerConfig = "default",
        image_size: int | None = None,
        seed: int = 0,
        engine: str | Engine = "local",
        precision: Precision | None = None,
        **overrides: Any,
    ) -> None:
        self.engine = find_engine(engine)
        self.config = LearnerConfig.from_preset(preset, **overrides)
        parse_terms(self.config.fitness)  # an unknown one should be an error at once
        self.seed = check_seed(seed)
        self.source, self.backbone = find_backbone(backbone, image_size, precision)
        self.readout = Readout.of(self.config.readout, self.backbone)
        blocks = self.readout.blocks(self.config.projection_dim) if self.config.projection_dim else ()
        self.head: Head = find_head(self.config.head).build(self.readout.features, blocks, self.config, seed)
        self.adaptation = Adaptation()
        self.ledger, self.known = Ledger(), Known()

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
        with uninterrupted():
            made = change.make(self)
            event = Event.of(type(change).__name__.lower(), made.counts, change.when)
            self.ledger.add(event, made.counts if made.taught else ())
        return made.accuracy

    def check(self) -> None:
        """Refuses a model file whose statistics are not what was written: once, before they are changed or copied."""
        if self._unchecked is not None:
            self._unchecked()
            self._unchecked = None

    def learn(
        self,
        images: Images,
        labels: Sequence[Label],
        held_out: float = 0.0,
        *,
        again: bool = False,
        relabel: bool = False,
    ) -> LearnReport:
        """Learns a task, or any part of one. Interrupted or failed, it leaves the learner as it was before.

        An image that was learned before is not learned again, unless ``again`` asks for it. One that was learned with
        another label keeps that; with ``relabel`` it gets the new one, as if it had never had another.

        With ``held_out``, that share of the images first measures the accuracy, before and after the others are
        learned, and is then learned too. With fewer than ten such images nothing is measured.
        """
        start = time.perf_counter()
        change, report = self.prepare(images, labels, held_out, again=again, relabel=relabel)
        accuracy = None if change is None else self.apply(change)
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

    def merge(self, other: Learner, *, again: bool = False) -> int:
        """Adds everything that ``other`` has learned: the learner that would have learned both.

        Returns how many images are new: none where all of them were learned here too, and then nothing changes. Where
        only some were, they cannot be told apart any more: that is an error, unless ``again`` lets them count twice.
        """
        before, change = self.head.samples, self.prepare_merge(other, again)
        if change is None:
            warnings.warn(NOTHING_TO_ADD, FoRoWarning, stacklevel=2)
        else:
            self.apply(change)
        return self.head.samples - before

    def prepare(
        self,
        images: Images,
        labels: Sequence[Label],
        held_out: float = 0.0,
        keep: Keep | None = None,
        *,
        again: bool = False,
        relabel: bool = False,
    ) -> tuple[Learn | None, LearnReport]:
        """What ``learn`` would change, if anything, and its report: makes all features, and changes nothing.

        ``keep`` is called with the features of every batch, to write them down before they are learned; not with an
        engine that learns elsewhere, from where only statistics come.
        """
        return prepare_learn(self, images, labels, held_out, keep, again, relabel)

    def prepare_unlearn(self, images: Images, labels: Sequence[Label]) -> Unlearn:
        """What ``unlearn`` would change: makes the features again, the same as when they were learned."""
        return prepare_unlearn(self, images, labels)

    def prepare_rename(self, label: Label, to: Label) -> Rename:
        """What ``rename`` would change."""
        known, name = self.head.known_as([label, to])
        if known == name:
            raise InputError(f"{known!r} is called so already")
        return Rename(known, name)

    def prepare_merge(self, other: Learner, again: bool = False) -> Merge | None:
        """What ``merge`` would change, if the two can be merged; None where all of the other was learned here too."""
        return prepare_merge(self, other, again)

    @property
    def knows_all(self) -> bool:
        """Whether there is a digest of every sample; features that came without an image have none."""
        return len(self.known) == self.head.samples

    def digests(self, images: Images) -> Digests:
        """Digests (n, 16) of images, made where these are."""
        if self.engine is not None:
            return self.engine.digests(images, self.backbone.preprocessing)
        return look(images, self.backbone.preprocessing)[0].digests

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
        twin.ledger, twin.known, twin.engine = Ledger(), Known(), self.engine
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
        digests, known = self.known.state()
        metadata = {
            "backbone": describe_backbone(self.backbone, self.source),
            "config": self.config.as_dict(),
            "seed": self.seed,
            **adaptation,
            "encoder": encoder,
            "ledger": self.ledger.state([*self.labels, *self.head.forgotten]),
            "known": known,
        }
        return {**{f"{HEAD}{name}": array for name, array in learned.items()}, **digests, **adapted}, metadata

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
            learner.known = Known.from_state(arrays, metadata.get("known", []))
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
