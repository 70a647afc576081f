"""LayUP: ridge regression on the CLS tokens of several layers, which may be adapted to the first task.

Source: Kyra Ahrens, Hans Hergen Lehmann, Jae Hee Lee, Stefan Wermter: Read Between the Layers: Leveraging Multi-Layer
Representations for Rehearsal-Free Continual Learning with Pre-Trained Models, Transactions on Machine Learning
Research, 2024.

Per task: the first one adapts the backbone under a cosine head. Then, for the first as for every other, the CLS
tokens of the last k layers side by side go into a Gram matrix and class sums, from which a ridge classifier is
solved. Without adaptation this is ``kem`` without a projection and with the same ``readout_layers``.

Defaults: those of the authors' code: k = 6 (of 12 layers), AdamW with a learning rate of 0.003, 20 epochs, batches of
48, weight decay 5e-4, a head that multiplies cosines by 30, cut-outs of at least 70 % of an image, adapters of width
64, prompts of 10 tokens. Which adaptation, their code leaves open; adapters are the default here, as of ADAM and
RanPAC.

Departures: the last layer's CLS is the one after the final norm, as every backbone here gives it; so that no layer
outweighs the others, each token is standardised by its own mean and deviation, where the authors take them all as
they are before that norm. The authors' code keeps the epoch that did best on the first task's test images; here the
last epoch is kept, and no test image is looked at. No colour jitter. With ``solver`` shared, γ is found by
generalised cross-validation over everything learned so far; LayUP's own way, four folds of the newest task and 16
values, is ``solver`` original.

Memory: the adapted weights, and statistics that do not grow with the number of images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from foro.research.baselines.first_session import FAST
from foro.research.baselines.ridge_method import RidgeMethod, RidgeSettings
from foro.research.baselines.training import Optimiser
from foro.research.methods.method import Settings, register
from foro.util.settings import setting


@dataclass(frozen=True)
class LayupSettings(RidgeSettings):
    """Settings of LayUP."""

    optimiser: Optimiser = setting("adamw", "sgd (momentum 0.9), adam or adamw")
    learning_rate: float = setting(0.003, "learning rate of the first step", least=0)
    crop_area: float = setting(
        0.7, "least share of an image that is cut out for training; 1: all of it", least=0.01, most=1
    )
    prompt_tokens: int = setting(10, "tokens of a prompt of vpt_shallow and vpt_deep", least=1)
    head_scale: float = setting(30.0, "what the head multiplies cosines by at first; it is trained, too", least=0)
    readout_layers: int = setting(6, "k, last layers whose CLS the classifier sees; all where there are fewer", least=1)


@register("layup", row="LayUP")
class Layup(RidgeMethod):
    """LayUP: adapters trained on the first task, then ridge on the CLS of the last six layers."""

    settings_type = LayupSettings
    settings: LayupSettings
    fast: ClassVar[Settings] = {"epochs": FAST["epochs"], "batch_size": FAST["batch_size"]}
    choice = "folds"

    @property
    def layers(self) -> int:
        return min(self.settings.readout_layers, self.backbone.depth)
