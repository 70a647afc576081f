"""Images of classes from a pre-trained text-to-image model, instead of a generator that learned them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foro.backbones.runtimes.torch_runtime import find_device
from foro.errors import BackboneError, InputError, first_line
from foro.types import Label
from foro.util.progress import progress_bar


def in_words(label: Label) -> str:
    """A label as a text-to-image model understands it: ``001.Black_footed_Albatross`` is a Black footed Albatross."""
    if re.fullmatch(r"n\d{8}", str(label)):
        raise InputError(f"a text-to-image model does not know what the WordNet id {label} is: give classes names")
    return re.sub(r"^\d+\.", "", str(label)).replace("_", " ")


def text_to_image(
    pipeline: str, labels: Sequence[Label], prompt: str, steps: int, seed: tuple[int, ...]
) -> list[NDArray[np.uint8]]:
    """One image (H, W, 3) for each of the labels, which are put into the prompt in the place of ``{}``."""
    import torch

    try:
        from diffusers import AutoPipelineForText2Image

        model = AutoPipelineForText2Image.from_pretrained(pipeline)
    except ImportError as error:
        raise BackboneError(f"{pipeline} needs more packages: pip install transformers ({first_line(error)})") from None
    except Exception as error:  # the hub's errors have no common class
        raise BackboneError(
            f"the text-to-image model {pipeline} cannot be loaded; it is fetched once from the Hugging Face hub, or "
            f"give a folder ({first_line(error)})"
        ) from None
    model = model.to(find_device(torch))
    model.set_progress_bar_config(disable=True)
    random = torch.Generator().manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
    images = []
    with progress_bar("generating", len(labels)) as advance:
        for label in labels:
            image = model(prompt.replace("{}", in_words(label)), num_inference_steps=steps, generator=random).images[0]
            images.append(np.asarray(image.convert("RGB")))
            advance(1)
    return images
