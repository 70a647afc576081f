"""What each policy makes of a task: a candidate found on a sample of it, or one that moves on with every batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foro.adaptation.activation_history import ActivationHistory, RunningActivations
from foro.adaptation.evolution import Distribution, Evolution, Space
from foro.adaptation.fitness import Fitness
from foro.adaptation.search import (
    FEWEST_CLASSES,
    FEWEST_GENERATIONS,
    FEWEST_IMAGES,
    Plan,
    Verdict,
    hold_classes_out,
    plan,
    positions_of,
    search,
)
from foro.config import LearnerConfig
from foro.errors import counted
from foro.features.candidate import NEUTRAL, Candidate
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.features.sample import Sample
from foro.heads.projection import RandomProjection
from foro.images.load import Images
from foro.images.samples import stratified
from foro.types import Arrays, Float32, Label
from foro.util.threads import one_blas_thread


@dataclass(frozen=True)
class Adaptation:
    """The evolved part of a learner's state; never changed, only replaced as a whole."""

    ARRAYS: ClassVar = ("candidate", "history", "distribution")

    candidate: Candidate = NEUTRAL
    settled: bool = False  # a candidate, or none, was decided on
    history: ActivationHistory | None = None
    distribution: Distribution | None = None
    tasks: int = 0

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready settings."""
        arrays = self.candidate.arrays()
        for name, pair in (("history", self.history), ("distribution", self.distribution)):
            if pair is not None:
                arrays |= {f"{name}.mean": pair.mean, f"{name}.deviation": pair.deviation}
        return arrays, {"settled": self.settled, "tasks": self.tasks}

    @classmethod
    def from_state(cls, arrays: Mapping[str, Float32], settings: Mapping[str, Any]) -> Adaptation:
        """The adaptation whose ``state`` this is, among other arrays and settings."""

        def pair(name: str) -> tuple[Float32, Float32] | None:
            return (arrays[f"{name}.mean"], arrays[f"{name}.deviation"]) if f"{name}.mean" in arrays else None

        history, distribution, tasks = pair("history"), pair("distribution"), int(settings["tasks"])
        if tasks < 0:
            raise ValueError(f"there cannot be {tasks} tasks")
        return cls(
            Candidate.from_arrays(arrays),
            bool(settings["settled"]),
            ActivationHistory(*history) if history else None,
            Distribution(*distribution) if distribution else None,
            tasks,
        )


def search_passes(config: LearnerConfig, before: Adaptation, labels: Sequence[Label]) -> int:
    """Forward passes, at most, of the search on a task with these labels; those that make its features do not count."""
    classes, policy = len(set(labels)), config.policy
    if "none" in (config.adaptation, policy) or (policy == "freeze" and before.settled) or classes < 2:
        return 0
    if policy == "freeze":
        found = _plan(config, len(labels), classes)
        if found is None:
            return 0
        return found.passes(_population(config))
    if config.online:
        return (_population(config) - 1) * len(labels)
    return config.generations * _population(config) * min(config.search_images, len(labels))


def _population(config: LearnerConfig) -> int:
    """K, candidates of a generation."""
    return config.population or (12 if config.adaptation == "gains" else 6)


def _plan(config: LearnerConfig, images: int, classes: int) -> Plan | None:
    """The search on a first task; None where it has too little of anything."""
    if classes < FEWEST_CLASSES or images < _fewest_images(config):
        return None
    most = min(config.search_images, images // 2)  # the others are to check on
    return plan(config.search_price * images, _population(config), most, config.generations)


def _fewest_images(config: LearnerConfig) -> float:
    """Images of a first task that are enough to search on and to check on, for the price that is allowed."""
    searched = min(FEWEST_IMAGES, config.search_images)
    passes = Plan(searched, min(FEWEST_GENERATIONS, config.generations)).passes(_population(config))
    return max(2 * searched, np.ceil(passes / config.search_price)) if config.search_price else np.inf


def _too_few(config: LearnerConfig, images: int, classes: int) -> str:
    """Why a first task is not searched on, and what to do."""
    enough = _fewest_images(config)
    if not np.isfinite(enough):
        return "features are not adapted: with search_price 0 nothing is searched"
    few = f"{counted(images, 'image')} of {counted(classes, 'class', 'classes')} {'is' if images == 1 else 'are'}"
    return (
        f"features are not adapted: {few} too few to judge that, which takes {enough:.0f} images of {FEWEST_CLASSES} "
        "classes; for that, teach a new model with more in its first lesson"
    )


class TaskAdaptation:
    """The adaptation to one task: ``adaptation`` is the new state, once ``prepare`` and ``features`` are through."""

    def __init__(
        self,
        extractor: Extractor,
        readout: Readout,
        projection: RandomProjection | None,
        config: LearnerConfig,
        before: Adaptation,
        seed: int,
    ) -> None:
        self.extractor = extractor
        self.readout = readout
        self.projection = projection
        self.config = config
        self.adaptation = replace(before, tasks=before.tasks + 1)
        self.generations = 0
        self.note: str | None = None  # why nothing was adapted
        self.verdict: Verdict | None = None
        self.generator = np.random.default_rng([seed, before.tasks])
        backbone, kind = extractor.backbone, config.adaptation
        self.space = Space(
            backbone.dim,
            backbone.depth,
            config.prompt_tokens if kind in ("prompt", "both") else 0,
            kind in ("gains", "both"),
            config.initial_step,
            config.gain_step,
        )

    @one_blas_thread
    def prepare(self, images: Images, labels: list[Label]) -> None:
        """Decides on the candidate for the task, where that is done before its features are made."""
        policy = "none" if self.config.adaptation == "none" else self.config.policy
        if policy == "none" or (policy == "freeze" and self.adaptation.settled):
            self.adaptation = replace(self.adaptation, settled=True)
        elif policy == "freeze":
            self._freeze(images, labels)
        elif len(set(labels)) < 2:
            self.note = "nothing is adapted: a task of one class says nothing of how well classes are told apart"
            self.adaptation = replace(self.adaptation, settled=True)
        elif self.config.online:
            self._start_history(images, labels)
        else:
            self._evolve(images, labels)

    def features(self, images: Images, labels: list[Label]) -> Iterator[Float32]:
        """Feature vectors (b, d) of the task, in batches, with the candidate of this task."""
        if self.config.online and self.config.adaptation != "none" and self.note is None:
            yield from self._online(images, labels)
        else:
            yield from self.extractor.features(images, self.readout, self.adaptation.candidate)

    def _freeze(self, images: Images, labels: list[Label]) -> None:
        """Searches on some images of two thirds of the classes, and keeps what helps the others."""
        self.adaptation = replace(self.adaptation, settled=True)
        config, classes = self.config, len(set(labels))
        found_plan = _plan(config, len(labels), classes)
        if found_plan is None:
            self.note = _too_few(config, len(labels), classes)
            return
        held = hold_classes_out(labels, self.generator)
        searched, unseen = self._cut(labels, held, found_plan.images)
        names, sample = self._sample(images, labels, np.concatenate([searched, unseen]))
        seen, judged = np.arange(len(searched)), np.arange(len(searched), len(names))
        neutral = sample.layers(NEUTRAL)
        history = self._activations(neutral)
        judge = sample.judge(self._fitness(neutral[seen], names[: len(seen)], history), seen)

        # New classes must be told apart from known ones too, so the heads of the check know all.
        whole = self._fitness(neutral, names, history)
        before = whole.few_shot(neutral)[judged]

        def check(candidate: Candidate) -> Verdict:
            return Verdict.of(before, whole.few_shot(sample.layers(candidate))[judged])

        limits = found_plan.generations, config.patience, config.search_seconds
        found = search(judge, self.space, self._evolution(), *limits, check)
        self.generations, self.verdict = found.generations, found.verdict
        self.adaptation = replace(self.adaptation, history=history)
        if self.verdict is not None and self.verdict.kept:
            candidate = self.space.candidate(found.distribution.mean)
            self.adaptation = replace(self.adaptation, candidate=candidate, distribution=found.distribution)

    def _cut(self, labels: list[Label], held: set[Label], most: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of images to search on, and of others to check on: of searched classes, and of those held out."""

        def some(part: NDArray[np.intp], count: int) -> NDArray[np.intp]:
            return part[stratified([labels[each] for each in part], count, self.generator)]

        unseen = positions_of(labels, held)
        seen = np.setdiff1d(np.arange(len(labels)), unseen)
        searched = some(seen, most)
        aside = some(np.setdiff1d(seen, searched), most // 2)
        return searched, np.concatenate([aside, some(unseen, most - len(aside))])

    def _evolve(self, images: Images, labels: list[Label]) -> None:
        config = self.config
        names, sample = self._sample(images, labels, stratified(labels, config.search_images, self.generator))
        neutral = sample.layers(NEUTRAL)
        history = self.adaptation.history or self._activations(neutral)
        judge = sample.judge(self._fitness(neutral, names, history), np.arange(len(names)))
        found = search(judge, self.space, self._evolution(), config.generations, config.patience)
        self.generations = found.generations
        task = self._activations(sample.layers(found.best))
        self.adaptation = replace(
            self.adaptation,
            candidate=found.best,
            settled=True,
            history=history.updated(task, config.history_rate),
            distribution=found.distribution,
        )

    def _start_history(self, images: Images, labels: list[Label]) -> None:
        if self.adaptation.history is None:
            chosen = stratified(labels, self.config.search_images, self.generator)
            _, sample = self._sample(images, labels, chosen)
            self.adaptation = replace(self.adaptation, history=self._activations(sample.layers(NEUTRAL)))

    def _online(self, images: Images, labels: list[Label]) -> Iterator[Float32]:
        """One generation a batch; the features of its best candidate are kept, so that no pass is wasted."""
        history = self.adaptation.history
        assert history is not None
        evolution, task = self._evolution(), RunningActivations()
        best = self.space.candidate(evolution.distribution.mean)
        start = 0
        for tokens in self.extractor.tokens(images, self.config.online_batch):
            candidates = [self.space.candidate(each) for each in evolution.ask()]
            layers = self.extractor.forward(tokens, candidates)
            fitness = self._fitness(layers[0], labels[start : start + len(tokens)], history)
            values = [fitness(each) for each in layers]
            evolution.tell(values)
            winner = int(np.argmin(values))
            best = candidates[winner]
            task.add(layers[winner][:, : self.extractor.backbone.depth])
            start += len(tokens)
            self.generations += 1
            yield self.readout(layers[winner])
        self.adaptation = replace(
            self.adaptation,
            candidate=best,
            settled=True,
            history=history.updated(task.result(), self.config.history_rate),
            distribution=evolution.distribution,
        )

    def _sample(self, images: Images, labels: list[Label], chosen: NDArray[np.intp]) -> tuple[list[Label], Sample]:
        """The labels of the images at the chosen positions, and these as a sample to compare candidates on."""
        sample = self.extractor.sample([images[position] for position in chosen])
        return [labels[position] for position in chosen], sample

    @property
    def population(self) -> int:
        """K, candidates of a generation."""
        return _population(self.config)

    def _evolution(self) -> Evolution:
        covariance = self.config.covariance
        if covariance == "auto":  # hundreds of numbers of a prompt are too many for a full one
            covariance = "full" if self.config.adaptation == "gains" else "separable"
        start = self.adaptation.distribution or self.space.initial()
        return Evolution(start, self.population, covariance, int(self.generator.integers(2**32)))

    def _activations(self, layers: Float32) -> ActivationHistory:
        """Statistics of the CLS of every layer."""
        return ActivationHistory.of(layers[:, : self.extractor.backbone.depth])

    def _fitness(self, layers: Float32, labels: list[Label], history: ActivationHistory) -> Fitness:
        config = self.config
        return Fitness.on(
            layers,
            labels,
            self.readout,
            self.projection,
            config.regularisation,
            history,
            config.discrepancy_weight,
            config.fitness,
        )
