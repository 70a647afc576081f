"""First-session adaptation: gradients on the first task only, then frozen features and a classifier that only adds up.

Aristeidis Panos et al., First Session Adaptation: A Strong Replay-Free Baseline for Class-Incremental Learning, ICCV
2023, gave it its name; ADAM, RanPAC and LayUP are built on it. It is here once, so that they differ in what they do
with the features and in nothing else.

The first task trains the parameters of ``tuning`` under a cosine head, which is then discarded: the classifier is
made of the features of all tasks alike. Defaults are those of ADAM's code, which RanPAC's took over: 20 epochs,
batches of 48, SGD with a learning rate of 0.01 and a cosine schedule, weight decay 5e-4, no clipping, cut-outs of at
least 5 % of an image, adapters of width 64, prompts of 5 tokens. For ``full`` that code has 6 epochs, batches of 128,
a decay of 0.05.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foro.backbones.base import Backbone
from foro.backbones.runtimes.torch_runtime import import_torch
from foro.features.cache import FeatureCache
from foro.features.extractor import Extractor
from foro.features.readout import Readout
from foro.heads.head import Head, gather
from foro.images.load import Images
from foro.research.baselines.adapted_backbone import AdaptedBackbone
from foro.research.baselines.baseline import Baseline
from foro.research.baselines.trainable import cls_features
from foro.research.baselines.training import TrainCost, TrainingSettings, train
from foro.research.baselines.tuning import Adaptation
from foro.research.methods.cached_learner import CachedExtractor
from foro.research.methods.method import LearnCost, Settings
from foro.types import Arrays, Float32, Float64, Label
from foro.util.interrupts import uninterrupted
from foro.util.progress import progress_bar
from foro.util.settings import setting

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class FirstSessionSettings(TrainingSettings):
    """How the backbone is adapted to the first task; all else is of no effect with ``adaptation`` none."""

    epochs: int = setting(20, "passes over the images of the first task", least=1)
    batch_size: int = setting(48, "images of a step", least=1)
    learning_rate: float = setting(0.01, "learning rate of the first step", least=0)
    clip_norm: float | None = setting(None, "most that the norm of a gradient may be; None: any", least=0)
    adaptation: Adaptation = setting(
        "adapter",
        "none: the backbone as it is, without torch; adapter, ssf, vpt_shallow or vpt_deep: few parameters are trained "
        "on the first task; full: all of them are",
    )
    adapter_width: int = setting(64, "width of an adapter", least=1)
    prompt_tokens: int = setting(5, "tokens of a prompt of vpt_shallow and vpt_deep", least=1)
    head_scale: float = setting(1.0, "what the head multiplies cosines by at first; it is trained, too", least=0)


FAST: Settings = {
    "epochs": 4,
    "batch_size": 32,
    "optimiser": "adamw",
    "learning_rate": 0.003,
    "head_scale": 30.0,
    "crop_area": 0.5,
}
"""What the fast preset changes: few steps, with the optimiser and the head of LayUP, which need fewer."""


@dataclass(frozen=True)
class FirstSession:
    """A backbone that was adapted, and the head (features to scores, both tensors) that it was adapted under."""

    backbone: AdaptedBackbone
    head: Callable[[Any], Any]
    cost: TrainCost


def adapt(
    backbone: Backbone,
    images: Images,
    targets: Sequence[int] | NDArray[np.intp],
    settings: FirstSessionSettings,
    seed: int,
) -> FirstSession:
    """Adapts a copy of a backbone to images and the numbers of their classes, and freezes it."""
    torch = import_torch("adaptation to the first task")
    adapted = AdaptedBackbone(backbone, settings.adaptation, settings.adapter_width, settings.prompt_tokens, seed)
    device = next(iter(adapted.parameters.values())).device
    classes, functional = int(max(targets)) + 1, torch.nn.functional
    bound = backbone.dim**-0.5
    drawn = torch.empty(classes, backbone.dim).uniform_(-bound, bound, generator=torch.Generator().manual_seed(seed))
    weights = torch.nn.Parameter(drawn.to(device))
    scale = torch.nn.Parameter(torch.tensor(settings.head_scale, device=device))

    def head(features: Any) -> Any:
        return scale * functional.linear(functional.normalize(features), functional.normalize(weights))

    def loss(pixels: Any, wanted: Any) -> Any:
        return functional.cross_entropy(head(cls_features(adapted.model, pixels)), wanted)

    with torch.random.fork_rng():
        torch.manual_seed(seed)  # of dropout
        adapted.model.train()
        cost = train(
            [*adapted.parameters.values(), weights, scale],
            loss,
            images,
            targets,
            settings,
            [seed],
            backbone.preprocessing,
            doing="adapting to the first task",
        )
    adapted.freeze()
    return FirstSession(adapted, lambda features: head(features.to(device)).detach(), cost)


class Classifier(Protocol):
    """What is needed of a classifier over features: every head of ``foro.heads`` has it."""

    def scores(self, X: Float32, /) -> Float64:
        """Scores (n, c) of features (n, d), one column for each label."""

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything to store: arrays by name, and JSON-ready values."""

    @classmethod
    def from_state(cls, arrays: Arrays, values: dict[str, Any], /) -> Self:
        """What ``state`` was of."""


def gathered_for(head: Head, batches: Iterable[Float32], names: list[Label]) -> Callable[[], None]:
    """The step that makes a head learn all features of a task, in batches (b, d)."""
    return partial(gather(head, batches, names).absorb_into, head)


class FirstSessionMethod(Baseline):
    """A baseline that adapts on its first task and from then on only adds statistics of frozen features."""

    settings: FirstSessionSettings
    classifier: Classifier

    def __init__(self, backbone: Backbone, settings: Any, seed: int, cache: FeatureCache | None = None) -> None:
        super().__init__(backbone, settings, seed, cache)
        self.adapted: AdaptedBackbone | None = None
        self.classifier = self.make_classifier()

    @classmethod
    def check_installed(cls, settings: Settings) -> None:
        if settings["adaptation"] != "none":
            super().check_installed(settings)

    @classmethod
    def build(cls, backbone: Backbone, settings: Settings, seed: int, cache: FeatureCache | None = None) -> Self:
        if settings["adaptation"] != "none":
            import_torch(cls.name)  # here, so that the seconds of learning are not those of loading it
        return super().build(backbone, settings, seed, cache)

    @abstractmethod
    def make_classifier(self) -> Classifier:
        """A classifier that has learned nothing."""

    @property
    def layers(self) -> int:
        """Of how many last layers the CLS is read; of several, standardised."""
        return 1

    def sources(self, adapted: AdaptedBackbone | None) -> list[Backbone]:
        """The backbones whose features are put side by side: the adapted one, or without adaptation the frozen one."""
        return [adapted or self.backbone]

    @abstractmethod
    def gathered(self, batches: Iterable[Float32], names: list[Label]) -> Callable[[], None]:
        """Reads all features of a task, and returns the step that makes the classifier learn them, all or none."""

    def settle(self) -> None:
        """Does what would otherwise be left to the first prediction, though it is part of learning."""

    def learn(self, images: Images, labels: Sequence[Label]) -> LearnCost:
        """Learns one task. Interrupted or failed, it leaves everything as it was before."""
        known = list(self.labels)
        try:
            cost = super().learn(images, labels)
        except BaseException:
            self.labels = known
            raise
        self.settle()
        return cost

    def learn_task(self, images: Images, targets: NDArray[np.intp]) -> LearnCost:
        adapted, forward, backward, note = self.adapted, 0, 0, None
        if self.tasks == 0 and self.settings.adaptation != "none":
            session = adapt(self.backbone, images, targets, self.settings, self.seed)
            adapted = session.backbone
            forward, backward, note = session.cost.forward_passes, session.cost.backward_passes, session.cost.note
        extractors = self._extractors(adapted)
        names = [self.labels[target] for target in targets]
        features = self._features(images, extractors, "learning")
        commit = self.gathered(features, names)
        with uninterrupted():
            commit()
            self.adapted = adapted
        forward += sum(extractor.forward_passes for extractor in extractors)
        return LearnCost(forward, backward, note)

    def scores(self, images: Images) -> Float64:
        features = self._features(images, self._extractors(self.adapted), "predicting")
        parts = [self.classifier.scores(part) for part in features]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.labels)))

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, values = self.classifier.state()
        stored = {f"classifier.{name}": array for name, array in arrays.items()}
        if self.adapted is not None:
            stored.update({f"adapted.{name}": array for name, array in self.adapted.arrays().items()})
        return stored, {"classifier": values, "adapted": self.adapted is not None}

    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        self.classifier = type(self.classifier).from_state(_under("classifier.", arrays), values["classifier"])
        if values["adapted"]:
            settings = self.settings
            self.adapted = AdaptedBackbone(
                self.backbone, settings.adaptation, settings.adapter_width, settings.prompt_tokens, self.seed
            )
            self.adapted.restore(_under("adapted.", arrays))

    def _extractors(self, adapted: AdaptedBackbone | None) -> list[Extractor]:
        if self.cache is None:
            return [Extractor(source) for source in self.sources(adapted)]
        return [CachedExtractor(source, self.cache) for source in self.sources(adapted)]

    def _features(self, images: Images, extractors: list[Extractor], doing: str) -> Iterator[Float32]:
        """Features (b, d) of images, in batches: for each source the CLS of its last layers, side by side."""
        with progress_bar(doing, len(images)) as advance:
            readout = Readout.of(f"cls{self.layers}", self.backbone)
            for sources in zip(*(each.features(images, readout) for each in extractors), strict=True):
                features = np.concatenate(sources, axis=1)
                yield features
                advance(len(features))


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
