"""What each policy makes of a task: a prompt found on a sample of it, or a prompt that moves on with every batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foro.adaptation.evolution import PromptDistribution, PromptEvolution
from foro.adaptation.fitness import Fitness
from foro.adaptation.history import ActivationHistory, RunningActivations
from foro.adaptation.search import improves, search_prompt
from foro.config import LearnerConfig
from foro.features.extractor import Extractor
from foro.features.sample import Sample
from foro.heads.ridge.encoder import KnowledgeEncoder
from foro.images.load import Images
from foro.images.samples import stratified
from foro.types import Float32, Label

FEWEST_IMAGES = 32
"""Below this, or with a single class, there is nothing to compare candidates on."""

UNSEEN_SHARE = 0.2
"""Share of the sample that the search of a prompt does not see, for the check that it does no harm."""


@dataclass(frozen=True)
class Adaptation:
    """The prompt-made part of a learner's state; never changed, only replaced as a whole."""

    ARRAYS: ClassVar = ("prompt", "history", "distribution")

    prompt: Float32 | None = None
    settled: bool = False  # a prompt, or none, was decided on
    history: ActivationHistory | None = None
    distribution: PromptDistribution | None = None
    tasks: int = 0

    def state(self) -> tuple[dict[str, Float32], dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready settings."""
        arrays = {} if self.prompt is None else {"prompt": self.prompt}
        for name, pair in (("history", self.history), ("distribution", self.distribution)):
            if pair is not None:
                arrays |= {f"{name}.mean": pair.mean, f"{name}.deviation": pair.deviation}
        return arrays, {"settled": self.settled, "tasks": self.tasks}

    @classmethod
    def from_state(cls, arrays: Mapping[str, Float32], settings: Mapping[str, Any]) -> Adaptation:
        """The adaptation whose ``state`` this is, among other arrays and settings."""

        def pair(name: str) -> tuple[Float32, Float32] | None:
            return (arrays[f"{name}.mean"], arrays[f"{name}.deviation"]) if f"{name}.mean" in arrays else None

        history, distribution = pair("history"), pair("distribution")
        return cls(
            arrays.get("prompt"),
            settings["settled"],
            ActivationHistory(*history) if history else None,
            PromptDistribution(*distribution) if distribution else None,
            settings["tasks"],
        )


class TaskAdaptation:
    """The adaptation to one task: ``adaptation`` is the new state, once ``prepare`` and ``layers`` are through."""

    def __init__(
        self, extractor: Extractor, encoder: KnowledgeEncoder, config: LearnerConfig, before: Adaptation, seed: int
    ) -> None:
        self.extractor = extractor
        self.encoder = encoder
        self.config = config
        self.adaptation = replace(before, tasks=before.tasks + 1)
        self.generations = 0
        self.note: str | None = None
        self.generator = np.random.default_rng([seed, before.tasks])

    def prepare(self, images: Images, labels: list[Label]) -> None:
        """Decides on the prompt for the task, where that is done before its features are made."""
        policy = self.config.policy
        if policy == "none" or (policy == "freeze" and self.adaptation.settled):
            self.adaptation = replace(self.adaptation, settled=True)
        elif policy == "freeze":
            self._freeze(images, labels)
        elif len(set(labels)) < 2:
            self.note = "the prompt is not evolved: a task of one class says nothing of how well it tells classes apart"
            self.adaptation = replace(self.adaptation, settled=True)
        elif self.config.online:
            self._start_history(images, labels)
        else:
            self._evolve(images, labels)

    def layers(self, images: Images, labels: list[Label]) -> Iterator[Float32]:
        """CLS of every layer (b, depth, dim) of the task, in batches, with the prompt of this task."""
        if self.config.online and self.note is None:
            yield from self._online(images, labels)
        else:
            yield from self.extractor.layers(images, self.adaptation.prompt)

    def _freeze(self, images: Images, labels: list[Label]) -> None:
        self.adaptation = replace(self.adaptation, settled=True)
        if len(set(labels)) < 2 or len(labels) < FEWEST_IMAGES:
            self.note = (
                f"the empty prompt is kept for good: the first task has {len(labels)} images of "
                f"{len(set(labels))} classes, and a prompt needs {FEWEST_IMAGES} images of 2 classes to be evolved on"
            )
            return
        chosen = stratified(labels, round(self.config.search_images / (1 - UNSEEN_SHARE)), self.generator)
        names, sample = self._sample(images, labels, chosen)
        unseen = np.zeros(len(names), dtype=bool)
        unseen[stratified(names, round(UNSEEN_SHARE * len(names)), self.generator)] = True
        empty = sample.layers(None)
        history = ActivationHistory.of(empty)
        seen = np.flatnonzero(~unseen)
        searched = self._fitness(empty[seen], [names[position] for position in seen], history)
        found = search_prompt(
            sample.judge(searched, seen), self._evolution(), self.config.generations, self.config.patience
        )
        self.generations = found.generations
        prompted = sample.layers(found.prompt)
        # Each is judged at its own best γ and sharpness: what helps may well change the scale of the scores.
        before, after = (self._fitness(each, names, history).cross_entropy(each) for each in (empty, prompted))
        if improves(before, after, unseen):
            history = history.updated(ActivationHistory.of(prompted), self.config.history_rate)
            self.adaptation = replace(
                self.adaptation, prompt=found.prompt, history=history, distribution=found.distribution
            )
        else:
            self.adaptation = replace(self.adaptation, history=history)

    def _evolve(self, images: Images, labels: list[Label]) -> None:
        names, sample = self._sample(images, labels, stratified(labels, self.config.search_images, self.generator))
        empty = sample.layers(None)
        history = self.adaptation.history or ActivationHistory.of(empty)
        judge = sample.judge(self._fitness(empty, names, history), np.arange(len(names)))
        found = search_prompt(judge, self._evolution(), self.config.generations, self.config.patience)
        self.generations = found.generations
        task = ActivationHistory.of(sample.layers(found.prompt))
        self.adaptation = replace(
            self.adaptation,
            prompt=found.prompt,
            settled=True,
            history=history.updated(task, self.config.history_rate),
            distribution=found.distribution,
        )

    def _start_history(self, images: Images, labels: list[Label]) -> None:
        if self.adaptation.history is None:
            chosen = stratified(labels, self.config.search_images, self.generator)
            _, sample = self._sample(images, labels, chosen)
            history = ActivationHistory.of(sample.layers(None))
            self.adaptation = replace(self.adaptation, history=history)

    def _online(self, images: Images, labels: list[Label]) -> Iterator[Float32]:
        """One generation a batch; the features of its best candidate are kept, so that no pass is wasted."""
        history = self.adaptation.history
        assert history is not None
        evolution, task = self._evolution(), RunningActivations()
        best = evolution.distribution.mean
        start = 0
        for tokens in self.extractor.tokens(images, self.config.online_batch):
            candidates = evolution.ask()
            layers = self.extractor.forward(tokens, candidates)
            fitness = self._fitness(layers[0], labels[start : start + len(tokens)], history)
            values = [fitness(each) for each in layers]
            evolution.tell(values)
            winner = int(np.argmin(values))
            best = candidates[winner]
            task.add(layers[winner])
            start += len(tokens)
            self.generations += 1
            yield layers[winner]
        self.adaptation = replace(
            self.adaptation,
            prompt=best,
            settled=True,
            history=history.updated(task.result(), self.config.history_rate),
            distribution=evolution.distribution,
        )

    def _sample(self, images: Images, labels: list[Label], chosen: NDArray[np.intp]) -> tuple[list[Label], Sample]:
        """The labels of the images at the chosen positions, and these as a sample to compare candidates on."""
        sample = self.extractor.sample([images[position] for position in chosen])
        return [labels[position] for position in chosen], sample

    def _evolution(self) -> PromptEvolution:
        config = self.config
        start = self.adaptation.distribution or PromptDistribution.initial(
            config.prompt_tokens, self.extractor.backbone.dim, config.initial_step
        )
        seed = int(self.generator.integers(2**32))
        return PromptEvolution(start, config.population, config.covariance, seed)

    def _fitness(self, layers: Float32, labels: list[Label], history: ActivationHistory) -> Fitness:
        config = self.config
        return Fitness.on(
            layers,
            labels,
            self.encoder,
            history,
            config.discrepancy_weight,
            config.readout_layers,
            config.fitness,
        )
