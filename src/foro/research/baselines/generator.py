"""A class-conditional denoising diffusion model of small images that learns new classes and keeps the old ones."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError
from foro.images.load import Images
from foro.images.preprocessing import Preprocessing
from foro.research.baselines.trainable import from_arrays, to_arrays
from foro.research.baselines.training import TrainCost, TrainingSettings, train
from foro.types import Arrays
from foro.util.progress import progress_bar
from foro.util.settings import setting

GROUPS = 8
"""Groups of the group normalisation: numbers of channels are multiples of it."""


@dataclass(frozen=True)
class GeneratorSettings(TrainingSettings):
    """Size and training of the diffusion model, in addition to the training of the classifier."""

    generator_epochs: int = setting(200, "passes of the generator over the images of a task", least=1)
    generator_batch_size: int = setting(128, "images of a step of the generator", least=1)
    generator_learning_rate: float = setting(2e-4, "learning rate of the generator's first step", least=0)
    generator_size: int = setting(32, "side of the generated images in pixels", least=4)
    generator_channels: str = setting("128,256,256,256", "channels of the generator's U-Net at each resolution")
    generator_layers: int = setting(2, "residual blocks of the U-Net at each resolution", least=1)
    generator_distillation: float = setting(1.0, "weight of the old generator's predictions for old classes", least=0)
    noise_steps: int = setting(1000, "steps of the diffusion", least=2)
    sampling_steps: int = setting(50, "steps of denoising for a sample", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        halvings = len(self.widths) - 1
        if self.generator_size % 2**halvings:
            raise InputError(f"generator_size = {self.generator_size} cannot be halved {halvings} times")
        if self.sampling_steps > self.noise_steps:
            raise InputError(f"sampling_steps can be at most {self.noise_steps}, not {self.sampling_steps}")

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels at each resolution."""
        text = self.generator_channels
        widths = tuple(int(each) if each.strip().isdecimal() else 0 for each in text.split(","))
        if any(width < GROUPS or width % GROUPS for width in widths):
            raise InputError(f"generator_channels must be multiples of {GROUPS} with commas between them, not {text!r}")
        return widths

    @property
    def generator_training(self) -> TrainingSettings:
        """How the generator is trained: on whole images, which it should learn to make."""
        return TrainingSettings(
            epochs=self.generator_epochs,
            batch_size=self.generator_batch_size,
            optimiser="adamw",
            learning_rate=self.generator_learning_rate,
            weight_decay=0.0,
            crop_area=1.0,
            flip=self.flip,
        )


class Generator:
    """A U-Net that takes noise out of images of classes 0 … c − 1; c grows by one embedding for each new class."""

    def __init__(self, settings: GeneratorSettings, seed: int, device: Any) -> None:
        import torch
        from diffusers import DDPMScheduler, UNet2DModel

        self.settings, self.seed, self.device = settings, seed, device
        blocks = len(settings.widths)
        with torch.random.fork_rng(devices=[]):  # diffusers takes its initial weights from torch's own generator
            torch.manual_seed(seed)
            self.unet = UNet2DModel(
                sample_size=settings.generator_size,
                block_out_channels=settings.widths,
                layers_per_block=settings.generator_layers,
                down_block_types=("DownBlock2D",) * blocks,
                up_block_types=("UpBlock2D",) * blocks,
                norm_num_groups=GROUPS,
                num_class_embeds=1,
            ).to(device)
        self.noising = DDPMScheduler(settings.noise_steps, beta_schedule="squaredcos_cap_v2")
        self.classes = 0
        half = (0.5, 0.5, 0.5)
        self.preprocessing = Preprocessing(settings.generator_size, 1.0, "center", "bicubic", half, half)

    def grow(self, classes: int) -> None:
        """Makes room for more classes; the known ones stay as they are."""
        import torch

        embedding = self.unet.class_embedding
        random = torch.Generator().manual_seed(self.seed + classes)
        larger = torch.randn(classes, embedding.weight.shape[1], generator=random)
        larger[: self.classes] = embedding.weight[: self.classes].detach().cpu()
        self.unet.class_embedding = torch.nn.Embedding.from_pretrained(larger, freeze=False).to(self.device)
        self.classes = classes

    def learn(
        self,
        images: Images,
        targets: NDArray[np.intp],
        replayed: list[NDArray[np.uint8]],
        their_targets: NDArray[np.intp],
        seed: tuple[int, ...],
    ) -> TrainCost:
        """Learns images of classes, of which ``grow`` has made room.

        What is ``replayed`` comes from this generator itself: there it learns to predict what it predicted before. Of
        it, at most as many as there are new images are used, so that a task does not take longer the more came before.
        """
        import torch

        before = deepcopy(self.unet).requires_grad_(False) if replayed else None
        known = len(images)
        kept = np.random.default_rng(seed).permutation(len(replayed))[:known]
        every = [*(images[position] for position in range(known)), *(replayed[position] for position in kept)]
        random = torch.Generator().manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))

        def loss(pixels: Any, numbers: Any) -> Any:
            noise = torch.randn(pixels.shape, generator=random).to(self.device)
            times = torch.randint(self.settings.noise_steps, (len(pixels),), generator=random).to(self.device)
            classes = wanted[numbers]
            noisy = self.noising.add_noise(pixels, noise, times)
            predicted = self.unet(noisy, times, classes).sample
            old = numbers >= known
            weight = torch.where(old, self.settings.generator_distillation, 1.0)
            if before is not None and old.any():
                with torch.no_grad():
                    noise[old] = before(noisy[old], times[old], classes[old]).sample
            return (weight * (predicted - noise).square().mean(dim=(1, 2, 3))).mean()

        wanted = torch.from_numpy(np.concatenate([targets, their_targets[kept]])).to(self.device)
        numbers = np.arange(len(every))
        return train(
            self.unet.parameters(),
            loss,
            every,
            numbers,
            self.settings.generator_training,
            seed,
            self.preprocessing,
            forwards=0,
            backwards=0,
            doing="training the generator",
        )

    def sample(self, targets: NDArray[np.intp], seed: tuple[int, ...]) -> list[NDArray[np.uint8]]:
        """One image (S, S, 3) for each of the classes, the same for the same seed."""
        import torch
        from diffusers import DDIMScheduler

        size, batch = self.settings.generator_size, self.settings.generator_batch_size
        random = torch.Generator().manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        images: list[NDArray[np.uint8]] = []
        with torch.inference_mode(), progress_bar("generating", len(targets)) as advance:
            for start in range(0, len(targets), batch):
                classes = torch.from_numpy(targets[start : start + batch]).to(self.device)
                noisy = torch.randn((len(classes), 3, size, size), generator=random).to(self.device)
                scheduler = DDIMScheduler.from_config(self.noising.config)
                scheduler.set_timesteps(self.settings.sampling_steps)
                for step in scheduler.timesteps:
                    times = step.expand(len(classes)).to(self.device)
                    noisy = scheduler.step(self.unet(noisy, times, classes).sample, step, noisy).prev_sample
                pixels = ((noisy + 1) * 127.5).clamp(0, 255).round().byte()
                images += list(pixels.permute(0, 2, 3, 1).cpu().numpy())
                advance(len(classes))
        return images

    def arrays(self, prefix: str) -> Arrays:
        """Everything it has learned."""
        return to_arrays(self.unet, prefix)

    def restore(self, arrays: Arrays, prefix: str, classes: int) -> None:
        """Takes what another one with the same settings had learned."""
        self.grow(classes)
        from_arrays(self.unet, arrays, prefix)
