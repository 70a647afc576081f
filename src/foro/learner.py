"""Algorithm 1: the learner that keeps learning new classes with a frozen backbone, forward passes only."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foro.adaptation.adaptation import Adaptation, TaskAdaptation
from foro.adaptation.fitness import parse_terms
from foro.backbones import Backbone
from foro.backbones.source import describe_backbone, find_backbone, taught_backbone
from foro.changes import Change, Forget, Learn, Merge, Restore, Unlearn
from foro.config import LearnerConfig, check_seed
from foro.engine import Engine, RemoteExtractor, find_engine
from foro.errors import FoRoWarning, InputError, ModelFileError
from foro.features.extractor import Extractor
from foro.features.readout import readout
from foro.files import INFERENCE_ONLY, write_model
from foro.files.recovery import recover
from foro.heads.head import Estimate, Gathered, gather
from foro.heads.ridge import KnowledgeEncoder
from foro.images.load import Images, check_images
from foro.images.samples import choose_held_out
from foro.ledger import Event, Ledger
from foro.snapshot import Snapshot
from foro.types import Arrays, Float32, Float64, Label
from foro.util.interrupts import uninterrupted
from foro.util.progress import progress_bar

if TYPE_CHECKING:
    from foro.evaluation import Evaluation
    from foro.files.export import Exported

Keep = Callable[[Float32, list[Label]], None]
"""Is given features (b, d) as they are made, and their labels."""


@dataclass(frozen=True)
class LearnReport:
    """What one ``learn`` did; accuracies are None where nothing was held out, or none of its labels was known."""

    samples: int
    new_labels: tuple[Label, ...]
    generations: int
    forward_passes: int  # sequences that went through the backbone, every candidate's
    seconds: float
    note: str | None = None
    held_out: int = 0  # images on which the accuracy was measured, and which were then learned too
    accuracy_before: float | None = None
    accuracy_after: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; ``from_dict`` makes a report of it again."""
        return {**asdict(self), "new_labels": list(self.new_labels)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LearnReport:
        return cls(**{**content, "new_labels": tuple(content["new_labels"])})


class Learner:
    """A frozen vision transformer that learns classes from images, task after task, and forgets none.

    Parameters
    ----------
    backbone
        ``"nano"`` (embedded), a full timm tag, a folder with a checkpoint, or a loaded backbone.
    preset
        ``"default"``, ``"paper"`` or a :class:`foro.LearnerConfig`; every setting of it can be overridden by name.
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
        if self.config.readout_layers > self.backbone.depth:
            raise InputError(f"readout_layers is at most {self.backbone.depth} with {self.backbone.name}")
        self.encoder = KnowledgeEncoder(
            self.backbone.dim * self.config.readout_layers,
            self.config.projection_dim,
            self.config.regularisation,
            self.config.activation,
            seed,
        )
        self.adaptation = Adaptation()
        self.ledger = Ledger()

    @property
    def labels(self) -> list[Label]:
        """Every label that can be predicted, in the order in which they were first learned."""
        return self.encoder.labels

    @property
    def prompt(self) -> Float32 | None:
        """The prompt (P, dim) that predictions are made with; None is the empty prompt."""
        return self.adaptation.prompt

    def apply(self, change: Change) -> float | None:
        """Makes a change: every verb ends here, and so does what a journal replays.

        Returns the accuracy on samples that were held out, measured before these were learned too.
        """
        head, accuracy, taught = self.encoder, None, False
        with uninterrupted():
            if isinstance(change, Learn):
                counts = dict(Counter(change.labels))
                change.samples.absorb_into(head)
                self.adaptation, taught = change.adaptation, True
                if change.held_out is not None:
                    accuracy = self._accuracy(change.held_out)
                    change.held_out.absorb_into(head)
            elif isinstance(change, Unlearn):
                counts = dict(Counter(change.labels))
                head.unlearn(change.features, change.labels)
            elif isinstance(change, Forget):
                counts = {change.label: head.counts.get(change.label, 0)}
                head.forget(change.label)
            elif isinstance(change, Restore):
                before = head.counts.get(change.label, 0)
                head.restore(change.label)
                counts = {change.label: head.counts[change.label] - before}
            else:
                counts = dict(zip(head.known_as(change.head.labels), change.head.counts.values(), strict=True))
                head.merge(change.head)
                mine, theirs = self.adaptation, change.adaptation
                self.adaptation = replace(mine if mine.settled else theirs, tasks=mine.tasks + theirs.tasks)
                taught = True
            self.ledger.add(Event.of(type(change).__name__.lower(), counts, change.when), counts if taught else ())
        return accuracy

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
        self.apply(Forget(self.encoder.known_as([label])[0]))

    def restore(self, label: Label) -> None:
        """Takes ``forget`` back: the learner is as if the label had never been forgotten."""
        self.apply(Restore(self.encoder.known_as([label])[0]))

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
        start = time.perf_counter()
        images, names = check_images(images), self.encoder.known_as(labels)
        if len(names) != len(images):
            raise InputError(f"{len(images)} images came with {len(names)} labels")
        if not names:
            raise InputError("there is no image to learn from")
        if not 0 <= held_out < 1:
            raise InputError(f"held_out is a share of the images between 0 and 1, not {held_out}")
        generator = np.random.default_rng([self.seed, self.adaptation.tasks, 1])
        tested = choose_held_out(names, held_out, generator) if held_out else []
        task, labelled = images, names
        if tested:
            aside = set(tested)
            task, labelled = _taken(images, names, [each for each in range(len(names)) if each not in aside])
        measured, accuracy = None, None
        with self._opened() as extractor:
            adapting = TaskAdaptation(extractor, self.encoder, self.config, self.adaptation, self.seed)
            if self.config.online:  # a batch of one class says nothing of the others
                task, labelled = _taken(task, labelled, adapting.generator.permutation(len(labelled)).tolist())
            adapting.prepare(task, labelled)
            if isinstance(extractor, RemoteExtractor):
                learned = extractor.learned(task, labelled, adapting.adaptation.prompt)
                samples = Gathered(labelled, None, learned)
            else:
                batches = self._features(adapting.layers(task, labelled), len(labelled), "learning")
                samples = gather(self.encoder, _kept(batches, labelled, keep), labelled)
            if tested:
                measured, accuracy = self._hold_out(*_taken(images, names, tested), extractor, adapting, keep)
        change = Learn(samples, adapting.adaptation, measured)
        known = set(self.labels)
        report = LearnReport(
            samples=len(names),
            new_labels=tuple(label for label in dict.fromkeys(change.labels) if label not in known),
            generations=adapting.generations,
            forward_passes=extractor.forward_passes,
            seconds=time.perf_counter() - start,
            note=adapting.note,
            held_out=len(tested),
            accuracy_before=accuracy,
        )
        return change, report

    def prepare_unlearn(self, images: Images, labels: Sequence[Label]) -> Unlearn:
        """What ``unlearn`` would change: makes the features again, the same as when they were learned."""
        names = self.encoder.known_as(labels)
        if self.config.policy == "evolve":
            raise InputError("unlearning needs policy none or freeze: with evolve, old features cannot be made again")
        return Unlearn(self.features(images), names)

    def prepare_merge(self, other: Learner) -> Merge:
        """What ``merge`` would change, if the two can be merged."""
        if difference := self.difference(other):
            raise InputError(f"these learners cannot be merged: their {difference} differ")
        return Merge(other.encoder, other.adaptation)

    def difference(self, other: Learner) -> str | None:
        """What stops the two from being merged, or None."""
        mine, theirs = self.adaptation, other.adaptation
        if self.backbone.fingerprint != other.backbone.fingerprint:
            return "backbones"
        if self.backbone.image_size != other.backbone.image_size:
            return "image sizes"
        if mine.settled and theirs.settled and not _equal(mine.prompt, theirs.prompt):
            return "prompts"
        if self.config.readout_layers != other.config.readout_layers:
            return "readouts"
        return self.encoder.difference(other.encoder)

    def blank(self) -> Learner:
        """A learner with the same backbone, settings and prompt that has learned nothing: the two can be merged."""
        twin = Learner.__new__(Learner)
        twin.config, twin.seed, twin.source, twin.backbone = self.config, self.seed, self.source, self.backbone
        twin.encoder, twin.adaptation = self.encoder.blank(), self.adaptation
        twin.ledger, twin.engine = Ledger(), self.engine
        return twin

    def features(self, images: Images) -> Float32:
        """Feature vectors (n, d) of images, as the classifier's projection sees them."""
        images = check_images(images)
        layers = self._extractor().layers(images, self.prompt)
        parts = list(self._features(layers, len(images), "features"))
        return np.concatenate(parts) if parts else np.zeros((0, self.encoder.features), np.float32)

    def predict(self, images: Images) -> list[Label]:
        """The most likely label of each image."""
        return self._uncalibrated().predict(images)

    def scores(self, images: Images) -> Float64:
        """Scores (n, c) of images, one column for each of ``labels``."""
        return self._uncalibrated().scores(images)

    def probabilities(self, images: Images) -> Float64:
        """The calibrated probability of each of ``labels`` (n, c), for each image."""
        return self.snapshot().probabilities(images)

    def top(self, images: Images, k: int = 5) -> list[list[tuple[Label, float]]]:
        """The k most likely labels of each image with their probabilities, best first."""
        return self.snapshot().top(images, k)

    def estimate(self) -> Estimate:
        """The accuracy to expect, overall and for each label: leave-one-out on up to 512 samples."""
        return self.encoder.estimate()

    def evaluate(self, images: Images, labels: Sequence[Label]) -> Evaluation:
        """Accuracy, confusions and calibration on images that were not learned."""
        return self.snapshot().evaluate(images, labels)

    def snapshot(self) -> Snapshot:
        """The learner as it is now, for predicting: read-only, safe to use by other threads while this one learns."""
        return replace(self._uncalibrated(), sharpness=self.encoder.sharpness)

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
        adapted, adaptation = self.adaptation.state()
        metadata = {
            "backbone": describe_backbone(self.backbone, self.source),
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

        What a :class:`foro.DurableLearner` has learned and not saved yet is part of it.
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
            learner.adaptation = Adaptation.from_state(arrays, metadata)
            learner.ledger = Ledger.from_state(metadata["ledger"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(f"{path} lacks a part of its model ({error})") from None
        except ValueError as error:
            raise ModelFileError(f"{path} is not a model of one piece: {error}") from None
        learner.source, learner.backbone = taught_backbone(path, taught, backbone)
        return learner

    def _opened(self) -> AbstractContextManager[Extractor]:
        """What runs the images of one ``learn`` through the backbone, wherever that is done."""
        return nullcontext(self._extractor()) if self.engine is None else self.engine.open(self)

    def _extractor(self) -> Extractor:
        """What runs images through the backbone, for one call; experiments put their feature cache here."""
        return Extractor(self.backbone)

    def _uncalibrated(self) -> Snapshot:
        """A snapshot for scores alone: to measure the sharpness of probabilities takes time."""
        return Snapshot(
            tuple(self.labels),
            self.encoder.weights,
            float("nan"),
            self.prompt,
            self.encoder.projection,
            self.config.readout_layers,
            self._extractor(),
            self.source,
        )

    def _features(self, batches: Iterable[Float32], total: int, doing: str) -> Iterator[Float32]:
        """Feature vectors of batches of the CLS of every layer."""
        with progress_bar(doing, total) as advance:
            for layers in batches:
                yield readout(layers, self.config.readout_layers)
                advance(len(layers))

    def _hold_out(
        self,
        images: Images,
        names: list[Label],
        extractor: Extractor,
        adapting: TaskAdaptation,
        keep: Keep | None,
    ) -> tuple[Gathered, float | None]:
        """Features of held-out images, and the accuracy of the learner as it is on them."""
        prompt = adapting.adaptation.prompt
        batches = self._features(extractor.layers(images, prompt), len(images), "measuring")
        samples = gather(self.encoder, _kept(batches, names, keep), names)
        known = prompt is self.prompt or not self.labels
        return samples, self._accuracy(samples if known else Gathered(names, self.features(images)))

    def _accuracy(self, samples: Gathered) -> float | None:
        """Share of samples that are classified correctly; None where none of their labels is known."""
        assert samples.features is not None
        if not set(self.labels).intersection(samples.labels):
            return None
        answers = zip(self.encoder.predict(samples.features), samples.labels, strict=True)
        return float(np.mean([answer == label for answer, label in answers]))


def _equal(one: Float32 | None, other: Float32 | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _taken(images: Images, names: list[Label], positions: list[int]) -> tuple[Images, list[Label]]:
    """The images and labels at some positions."""
    return [images[position] for position in positions], [names[position] for position in positions]


def _kept(batches: Iterable[Float32], names: list[Label], keep: Keep | None) -> Iterator[Float32]:
    """The batches as they are; ``keep`` sees each of them, with its labels."""
    start = 0
    for features in batches:
        if keep is not None:
            keep(features, names[start : start + len(features)])
        start += len(features)
        yield features
