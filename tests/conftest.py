"""Fixtures of more than one room: the real weights and images, and what is skipped without an extra."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

from foro.backbones import Backbone, load_backbone
from foro.cluster.connection import start
from tests.backbones.reference import save_checkpoint, tiny_checkpoint

# The same examples in every run, so that a failure is about the change; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

EXTRAS = {"torch": ("torch", "timm"), "ray": ("ray", "pyarrow")}

_DEFAULT = Path(__file__).parents[2] / "shared" / "data"


def pytest_configure() -> None:
    """Let Ctrl-C be Ctrl-C, also in a run that was started in the background, which inherits that it is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs an extra where that is not installed."""
    for extra, modules in EXTRAS.items():
        if all(find_spec(module) for module in modules):
            continue
        for item in items:
            if item.get_closest_marker(extra):
                item.add_marker(pytest.mark.skip(reason=f'needs the {extra} extra: pip install "foro[{extra}]"'))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real weights and images."""
    folder = Path(os.environ.get("FORO_SHARED_DATA", _DEFAULT))
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set FORO_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def vit_tiny(shared_data: Path) -> Path:
    """Folder of the real ViT-Ti/16, augreg in21k fine-tuned on in1k."""
    folder = shared_data / "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    if not folder.is_dir():
        pytest.skip(f"no ViT-Ti/16 in {folder}")
    return folder


@pytest.fixture(scope="session")
def tiny_backbone() -> Backbone:
    """A random ViT of 32 px that runs in a millisecond."""
    return load_backbone(tiny_checkpoint(), threads=1)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the same ViT."""
    return save_checkpoint(tiny_checkpoint(), tmp_path_factory.mktemp("backbone") / "tiny")


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """The module ray, connected to a small cluster of two processors and a logical GPU."""
    module = start(num_cpus=2, num_gpus=1, object_store_memory=120 * 2**20)
    yield module
    module.shutdown()


def textures(per_class: int, classes: int = 4, seed: int = 0) -> tuple[list[NDArray[np.uint8]], list[str]]:
    """Small images of stripes whose direction and pitch are their class: even a random ViT can tell them apart."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[:32, :32]
    images, labels = [], []
    for number in range(per_class * classes):
        kind = number % classes
        angle, pitch = np.pi * kind / classes, 4 + 2 * kind
        phase = generator.uniform(0, 2 * np.pi)
        wave = np.sin((rows * np.sin(angle) + columns * np.cos(angle)) * 2 * np.pi / pitch + phase)
        image = 127 + 100 * wave[:, :, None] + generator.normal(0, 20, (32, 32, 3))
        images.append(np.uint8(np.clip(image, 0, 255)))
        labels.append(f"texture {kind}")
    return images, labels
