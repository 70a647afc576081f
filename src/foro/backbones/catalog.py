"""From a name to a backbone that is ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, sep
from pathlib import Path
from typing import Literal

from foro.backbones.base import Backbone
from foro.backbones.checkpoint import Checkpoint, read_checkpoint
from foro.backbones.embedded import find_edition, find_registered, registered_names
from foro.backbones.graph.linear import Precision
from foro.backbones.hub import download
from foro.backbones.runtimes.microbatch import DEFAULT_MEMORY_BUDGET
from foro.backbones.timm_table import full_names, timm_vits
from foro.errors import BackboneError, did_you_mean

Runtime = Literal["onnx", "torch"]
_FILE_SUFFIXES = (".safetensors", ".bin", ".pth", ".pt", ".pkl", ".ckpt")


def list_backbones() -> list[str]:
    """Names that ``load_backbone`` knows: the embedded ones, then timm's full names.

    Any other full name on the hub, and any folder, works as well if its tensors are those of a plain ViT.
    """
    return [*registered_names(), *full_names()]


def load_checkpoint(name: str | PathLike[str], *, revision: str | None = None) -> Checkpoint:
    """Weights and config of an embedded backbone, a local folder or file, or a full timm name.

    A full timm name such as ``vit_base_patch16_224.augreg_in1k`` is fetched from the Hugging Face hub into
    its cache; ``revision`` pins a commit there. So is an earlier edition of an embedded backbone, such as ``nano@1``.
    """
    text, path = str(name), Path(name)
    if isinstance(name, str) and (loader := find_registered(name)):
        return loader()
    if isinstance(name, str) and (found := find_edition(name)):
        edition = found[1]
        checkpoint = read_checkpoint(download(found[0], revision, edition.repository))
        if checkpoint.fingerprint != edition.fingerprint:
            raise BackboneError(f"{edition.repository} has other weights than those of {found[0]}")
        return checkpoint
    if path.exists():
        return read_checkpoint(path)
    if not isinstance(name, str) or sep in text or "/" in text or path.suffix in _FILE_SUFFIXES:
        raise BackboneError(f"there is no file or folder {text}")
    if text in timm_vits():
        tags = ", ".join(f"{text}.{tag}" for tag in timm_vits()[text]["tags"])
        raise BackboneError(f"{text} names an architecture, not its weights; choose one of {tags}")
    if "." not in text:
        raise BackboneError(f"there is no backbone named {text!r}{did_you_mean(text, list_backbones())}")
    return read_checkpoint(download(text, revision))


def load_backbone(
    name: str | PathLike[str] | Checkpoint,
    *,
    runtime: Runtime = "onnx",
    image_size: int | None = None,
    threads: int | None = None,
    precision: Precision = "float32",
    providers: Sequence[str] | None = None,
    device: str = "auto",
    memory_budget: int = DEFAULT_MEMORY_BUDGET,
) -> Backbone:
    """A frozen vision transformer, ready to run.

    Args:
        name: what ``load_checkpoint`` takes, or a checkpoint that is loaded already.
        runtime: ``onnx`` (ONNX Runtime) or ``torch`` (the torch extra).
        image_size: side of the images, a multiple of the patch size; the checkpoint's own where None.
        threads: most that work at once; see ``foro.util.threads`` where None.
        precision: ``int8`` quantises the weights of the onnx runtime: smaller and faster, less exact.
        providers: execution providers of ONNX Runtime, the processor where None.
        device: of the torch runtime: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        memory_budget: bytes for the activations of one run.
    """
    checkpoint = name if isinstance(name, Checkpoint) else load_checkpoint(name)
    if runtime == "onnx":
        if device not in ("auto", "cpu"):
            raise BackboneError(f"the onnx runtime has no device {device!r}; choose providers, or the torch runtime")
        from foro.backbones.runtimes.onnx_runtime import OnnxBackbone

        return OnnxBackbone(
            checkpoint,
            image_size=image_size,
            threads=threads,
            precision=precision,
            providers=providers,
            memory_budget=memory_budget,
        )
    if runtime == "torch":
        if precision != "float32" or providers is not None:
            raise BackboneError("the torch runtime has float32 only and no providers; use the onnx runtime for those")
        from foro.backbones.runtimes.torch_runtime import TorchBackbone

        return TorchBackbone(
            checkpoint, image_size=image_size, threads=threads, device=device, memory_budget=memory_budget
        )
    raise BackboneError(f"the runtime must be onnx or torch, not {runtime!r}")
